package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Subcommands;
import dev.polis.plugins.manifest.KeyId;
import java.nio.file.Path;
import java.security.PublicKey;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Makes keys that sign plugins. */
@Command(
    name = "key",
    description = "Makes keys that sign plugins.",
    mixinStandardHelpOptions = true)
@Subcommands({PluginKeyCommand.Make.class})
final class PluginKeyCommand {

  @ParentCommand PluginCommand plugin;

  /** Makes a key. */
  @Command(
      name = "make",
      description = {
        "Makes an Ed25519 key: the private one in FILE, the public one in FILE.pub.",
        "It asks no node."
      },
      mixinStandardHelpOptions = true)
  static final class Make implements Callable<Integer> {
    @ParentCommand PluginKeyCommand key;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "FILE", description = "where to put the private key: a new file")
    Path file;

    @Override
    public Integer call() {
      PublicKey made = PluginKeyFile.make(file);
      Path publicFile = PluginKeyFile.publicFile(file);
      JsonObject result = new JsonObject();
      result.addProperty("privateKey", file.toString());
      result.addProperty("publicKey", publicFile.toString());
      result.addProperty("keyId", KeyId.of(made).hex());
      key.plugin.print(
          result,
          "Key %s: keep %s secret, and let the cluster trust %s: %s plugin trust add NAME %s"
              .formatted(
                  KeyId.of(made), file, publicFile, CtlName.called(), CtlName.quoted(publicFile)),
          spec);
      return ExitCode.OK.code();
    }
  }
}
