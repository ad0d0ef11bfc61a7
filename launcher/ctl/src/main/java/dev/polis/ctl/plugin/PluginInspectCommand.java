package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import dev.polis.plugins.store.Digest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows the manifest of a plugin, and whether it belongs to the bundle. */
@Command(
    name = "inspect",
    description = {
      "Shows the manifest of a plugin, and checks that the bundle is the one it was packed for.",
      "Exit code 5 if it is not. It asks no node, so it does not report whether a cluster trusts the key."
    })
final class PluginInspectCommand extends CtlCommand {

  @Parameters(paramLabel = "JAR", description = "the bundle; its manifest is in JAR.plugin")
  Path bundle;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      description = "a public key; the signature is checked with it")
  Path key;

  @Override
  protected ExitCode run() {
    try {
      byte[] file = PluginVerifier.read(bundle, ManifestEnvelope.beside(bundle));
      ManifestEnvelope envelope = ManifestEnvelope.decode(file);
      if (key != null) {
        verifier(envelope).verifyManifest(file, roots());
      }
      PluginManifest manifest = envelope.content();
      PluginVerifier.requireBundle(bundle, manifest);
      return print(manifest, signature(envelope));
    } catch (PluginRefusedException e) {
      throw new CtlException(ExitCode.NOT_MET, e.getMessage(), e);
    } catch (IOException e) {
      throw new CtlException("%s cannot be read: %s".formatted(bundle, e), e);
    }
  }

  private static PluginVerifier verifier(ManifestEnvelope envelope) {
    Set<Digest> listed =
        switch (envelope) {
          case DistributionManifest given -> Set.of(given.digest());
          case SignedManifest signed -> Set.of();
        };
    return new PluginVerifier(PlatformVersion.current(), listed);
  }

  private TrustRoots roots() {
    return new TrustRoots(List.of(new TrustedKey("given", PluginKeyFile.readPublic(key))));
  }

  private String signature(ManifestEnvelope envelope) {
    return switch (envelope) {
      case SignedManifest signed ->
          "key %s, %s"
              .formatted(
                  signed.keyId(),
                  key == null ? "not checked: name the public key with --key" : "good");
      case DistributionManifest given -> "none; it came with the platform";
    };
  }

  private ExitCode print(PluginManifest manifest, String signature) {
    String provides = PluginRows.provides(manifest);
    List<String> lines = new ArrayList<>();
    lines.add("plugin      " + manifest.label());
    lines.add("provides    " + (provides.isEmpty() ? "nothing; it is a library" : provides));
    lines.add("platform    %s or newer".formatted(manifest.minimumPlatform()));
    lines.add("bundle      %d bytes, sha256 %s".formatted(manifest.size(), manifest.digest()));
    lines.add("signature   " + signature);
    manifest.packages().forEach(need -> lines.add("package     " + need));
    JsonObject row = PluginRows.of(manifest);
    row.addProperty("signature", signature);
    return print(String.join(System.lineSeparator(), lines), row);
  }
}
