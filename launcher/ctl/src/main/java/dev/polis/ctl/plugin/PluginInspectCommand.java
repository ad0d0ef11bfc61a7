package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
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
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Shows the manifest of a plugin, and whether it belongs to the bundle. */
@Command(
    name = "inspect",
    description = {
      "Shows the manifest of a plugin, and checks that the bundle is the one it was packed for.",
      "Exit code 5 if it is not. It asks no node, so it does not report whether a cluster trusts the key."
    },
    mixinStandardHelpOptions = true)
final class PluginInspectCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @Parameters(paramLabel = "JAR", description = "the bundle; its manifest is in JAR.plugin")
  Path bundle;

  @Option(
      names = "--key",
      paramLabel = "FILE",
      description = "a public key; the signature is checked with it")
  Path key;

  @Override
  public Integer call() {
    try {
      byte[] file = PluginVerifier.read(bundle, ManifestEnvelope.beside(bundle));
      ManifestEnvelope envelope = ManifestEnvelope.decode(file);
      if (key != null) {
        verifier(envelope).verifyManifest(file, roots());
      }
      PluginManifest manifest = envelope.content();
      PluginVerifier.requireBundle(bundle, manifest);
      print(manifest, signature(envelope));
      return ExitCode.OK.code();
    } catch (PluginRefusedException e) {
      throw new CtlException(ExitCode.NOT_MET, e.getMessage(), e);
    } catch (IOException e) {
      throw new CtlException(ExitCode.FAILED, "%s cannot be read: %s".formatted(bundle, e), e);
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

  private void print(PluginManifest manifest, String signature) {
    JsonObject row = PluginRows.of(manifest);
    row.addProperty("signature", signature);
    if (plugin.ctl.options.output == Output.table || plugin.ctl.options.output == Output.wide) {
      lines(manifest, signature, spec.commandLine().getOut());
    } else {
      plugin.ctl.options.output.print(Document.single(row), spec.commandLine().getOut());
    }
  }

  private static void lines(PluginManifest manifest, String signature, PrintWriter out) {
    String provides = PluginRows.provides(manifest);
    out.println("plugin      " + manifest.label());
    out.println("provides    " + (provides.isEmpty() ? "nothing; it is a library" : provides));
    out.println("platform    %s or newer".formatted(manifest.minimumPlatform()));
    out.println("bundle      %d bytes, sha256 %s".formatted(manifest.size(), manifest.digest()));
    out.println("signature   " + signature);
    manifest.packages().forEach(need -> out.println("package     " + need));
    out.flush();
  }
}
