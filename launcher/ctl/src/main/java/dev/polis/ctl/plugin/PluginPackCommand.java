package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.files.DiskTrouble;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.KeyId;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackException;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginPacker;
import java.io.IOException;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes a plugin of a bundle. */
@Command(
    name = "pack",
    description = {
      "Writes the signed manifest of a plugin beside its bundle, as JAR.plugin.",
      "It reads what the bundle provides and needs from its capabilities polis.organ, polis.role and",
      "polis.platform; options are for a bundle that has none. It asks no node."
    })
final class PluginPackCommand extends CtlCommand {

  @Parameters(paramLabel = "JAR", description = "the bundle")
  Path bundle;

  @Option(
      names = "--key",
      required = true,
      paramLabel = "FILE",
      description = "the private key, made with: plugin key make")
  Path key;

  @Option(
      names = "--organ",
      paramLabel = "NAME",
      description = "an organ it provides, such as metrics; may be repeated")
  List<String> organs = List.of();

  @Option(
      names = "--role",
      paramLabel = "NAME",
      description = "a role it provides, such as NightlyBackup; may be repeated")
  List<String> roles = List.of();

  @Option(
      names = "--minimum-platform",
      paramLabel = "VERSION",
      description = "the lowest version of Polis it runs on (default: that of this polisctl)")
  String minimumPlatform = "";

  @Override
  protected ExitCode run() {
    PrivateKey signer = PluginKeyFile.readPrivate(key);
    PluginManifest manifest = packed(signer);
    KeyId keyId = KeyId.of(Ed25519.publicKey(signer));
    Path file = ManifestEnvelope.beside(bundle);
    JsonObject result = PluginRows.of(manifest);
    result.addProperty("manifest", file.toString());
    result.addProperty("keyId", keyId.hex());
    return print(
        "Packed %s (%s), signed by key %s: %s"
            .formatted(manifest.label(), PluginRows.provides(manifest), keyId, file),
        result);
  }

  private PluginManifest packed(PrivateKey signer) {
    try {
      return PluginPacker.pack(bundle, PackOptions.of(organs, roles, minimumPlatform), signer);
    } catch (PackException e) {
      throw new CtlException(e.getMessage(), e);
    } catch (IOException e) {
      throw new CtlException(
          "%s cannot be packed: %s; %s"
              .formatted(bundle, DiskTrouble.reason(e), DiskTrouble.remedy(DiskTrouble.of(e))),
          e);
    }
  }
}
