package dev.polis.ctl;

import dev.polis.ctl.session.Subcommands;
import java.util.Set;
import java.util.function.Predicate;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * Builds picocli's model of the command line from the {@link Subcommands} of {@link Ctl}, whole or
 * in part. The whole model of some eighty commands takes longer to build than a node takes to
 * answer.
 */
public final class CommandTree {
  private CommandTree() {}

  /** Builds the model of all commands. */
  static CommandLine whole() {
    return grown(new CommandLine(new Ctl()), Ctl.class, _ -> true);
  }

  /**
   * Builds the model of those commands whose names are among the words of a command line. A command
   * line that is right means the same to it as to the whole model: a word that is no name of a
   * registered command is no name of another one either.
   */
  static CommandLine named(Set<String> words) {
    return grown(new CommandLine(new Ctl()), Ctl.class, words::contains);
  }

  /** Adds the options of help to a command, and its subcommands, of which it does the same. */
  private static CommandLine grown(CommandLine line, Class<?> command, Predicate<String> wanted) {
    line.getCommandSpec().mixinStandardHelpOptions(true);
    Subcommands subcommands = command.getAnnotation(Subcommands.class);
    if (subcommands != null) {
      for (Class<?> each : subcommands.value()) {
        String name = each.getAnnotation(Command.class).name();
        if (wanted.test(name)) {
          line.addSubcommand(name, grown(new CommandLine(each), each, wanted));
        }
      }
    }
    return line;
  }
}
