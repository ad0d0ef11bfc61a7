package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Subcommands;
import dev.polis.plugins.manifest.KeyId;
import java.nio.file.Path;
import java.security.PublicKey;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Makes keys that sign plugins. */
@Command(name = "key", description = "Makes keys that sign plugins.")
@Subcommands({PluginKeyCommand.Make.class})
final class PluginKeyCommand {

  /** Makes a key. */
  @Command(
      name = "make",
      description = {
        "Makes an Ed25519 key: the private one in FILE, the public one in FILE.pub.",
        "It asks no node."
      })
  static final class Make extends CtlCommand {
    @Parameters(paramLabel = "FILE", description = "where to put the private key: a new file")
    Path file;

    @Override
    protected ExitCode run() {
      PublicKey made = PluginKeyFile.make(file);
      Path publicFile = PluginKeyFile.publicFile(file);
      JsonObject result = new JsonObject();
      result.addProperty("privateKey", file.toString());
      result.addProperty("publicKey", publicFile.toString());
      result.addProperty("keyId", KeyId.of(made).hex());
      return print(
          "Key %s: keep %s secret, and let the cluster trust %s: %s plugin trust add NAME %s"
              .formatted(
                  KeyId.of(made), file, publicFile, CtlName.called(), CtlName.quoted(publicFile)),
          result);
    }
  }
}
