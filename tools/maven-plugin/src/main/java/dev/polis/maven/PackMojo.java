package dev.polis.maven;

import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackException;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginPacker;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.List;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;

/** Writes the signed manifest of a plugin beside the project's bundle. */
@Mojo(name = "pack", defaultPhase = LifecyclePhase.PACKAGE, threadSafe = true)
public final class PackMojo extends AbstractMojo {

  /** The bundle. */
  @Parameter(
      property = "polis.bundle",
      defaultValue = "${project.build.directory}/${project.build.finalName}.jar")
  private File bundle;

  /**
   * The private key, as "polisctl plugin key make" writes it. Keep it out of the project's sources.
   */
  @Parameter(property = "polis.key", required = true)
  private File key;

  /** The organs it provides, of a bundle that says nothing of organs and roles itself. */
  @Parameter private List<String> organs;

  /** The roles it provides, of a bundle that says nothing of organs and roles itself. */
  @Parameter private List<String> roles;

  /**
   * The lowest version of the platform it runs on, of a bundle that does not say it itself; by
   * default the version of this plugin.
   */
  @Parameter(property = "polis.minimumPlatform", defaultValue = "")
  private String minimumPlatform;

  /** Maven makes the goal and sets its parameters. */
  public PackMojo() {}

  @Override
  public void execute() throws MojoExecutionException, MojoFailureException {
    PluginManifest manifest =
        pack(
            bundle.toPath(),
            key.toPath(),
            given(organs),
            given(roles),
            minimumPlatform == null ? "" : minimumPlatform);
    getLog()
        .info(
            "packed %s, %s, in %s"
                .formatted(
                    manifest.label(),
                    manifest.provides(),
                    ManifestEnvelope.beside(bundle.toPath())));
  }

  static PluginManifest pack(
      Path bundle, Path key, List<String> organs, List<String> roles, String minimumPlatform)
      throws MojoExecutionException, MojoFailureException {
    try {
      return PluginPacker.pack(
          bundle, PackOptions.of(organs, roles, minimumPlatform), privateKey(key));
    } catch (PackException | PkiException e) {
      throw new MojoFailureException(e.getMessage(), e);
    } catch (IOException e) {
      throw new MojoExecutionException(bundle + " cannot be packed: " + e, e);
    }
  }

  private static PrivateKey privateKey(Path key) throws MojoFailureException, IOException {
    if (!Files.isRegularFile(key)) {
      throw new MojoFailureException(
          "the key %s does not exist; make it with \"polisctl plugin key make %s\""
              .formatted(key, key));
    }
    return Pem.privateKey(Files.readString(key));
  }

  /** Returns a list; Maven gives null where the project sets none. */
  private static List<String> given(List<String> values) {
    return values == null ? List.of() : values;
  }
}
