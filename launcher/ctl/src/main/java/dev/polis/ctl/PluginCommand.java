package dev.polis.ctl;

import com.google.gson.JsonObject;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;

/** Packs, signs and inspects plugins, and says which keys may sign them. */
@Command(
    name = "plugin",
    description = "Packs, signs and inspects plugins, and says which keys may sign them.",
    mixinStandardHelpOptions = true,
    subcommands = {
      PluginPackCommand.class,
      PluginInspectCommand.class,
      PluginKeyCommand.class,
      PluginTrustCommand.class
    })
final class PluginCommand {

  @ParentCommand Ctl ctl;

  /** Prints a sentence for people, or what it says for programs. */
  void print(JsonObject result, String words, CommandSpec spec) {
    Output output = ctl.options.output;
    if (output == Output.table || output == Output.wide) {
      spec.commandLine().getOut().println(words);
    } else {
      output.print(Document.single(result), spec.commandLine().getOut());
    }
  }
}
