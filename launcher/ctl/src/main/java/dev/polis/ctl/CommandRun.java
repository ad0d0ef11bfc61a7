package dev.polis.ctl;

import java.io.PrintWriter;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * Runs one command line. It is read with a model of the commands that it names. If it is wrong or
 * asks for help, the whole model answers instead, since errors and help also speak of commands that
 * were not named.
 */
final class CommandRun {

  /** Begins a word that names a file with more words. */
  private static final String FILE_OF_WORDS = "@";

  private final String[] arguments;
  private final PrintWriter out;
  private final PrintWriter err;
  private final Supplier<CommandLine> whole;

  /** Notes that the command itself runs, so that nothing may run it again. */
  private boolean started;

  CommandRun(String[] arguments, PrintWriter out, PrintWriter err) {
    this(arguments, out, err, CommandTree::whole);
  }

  /**
   * Makes a run with a whole model of the caller's.
   *
   * @param whole returns it, if the model of the named commands does not suffice
   */
  CommandRun(String[] arguments, PrintWriter out, PrintWriter err, Supplier<CommandLine> whole) {
    this.arguments = arguments.clone();
    this.out = out;
    this.err = err;
    this.whole = whole;
  }

  /** Runs it and returns the exit code. */
  int execute() {
    Set<String> words = Arrays.stream(arguments).collect(Collectors.toSet());
    if (words.stream().anyMatch(word -> word.startsWith(FILE_OF_WORDS))) {
      return executeWhole();
    }
    CommandLine named = Ctl.prepared(CommandTree.named(words), out, err);
    named.setExecutionStrategy(this::start);
    named.setParameterExceptionHandler(this::misused);
    return named.execute(arguments);
  }

  private int executeWhole() {
    return Ctl.prepared(whole.get(), out, err).execute(arguments);
  }

  private int start(ParseResult parsed) {
    if (!namesWhatRuns(parsed)) {
      return executeWhole();
    }
    started = true;
    return Ctl.execute(parsed);
  }

  private int misused(ParameterException wrong, String[] given) {
    return started ? Ctl.misused(wrong, given) : executeWhole();
  }

  private static boolean namesWhatRuns(ParseResult parsed) {
    ParseResult last = parsed;
    while (true) {
      if (last.isUsageHelpRequested() || last.isVersionHelpRequested()) {
        return false;
      }
      if (!last.hasSubcommand()) {
        return last.commandSpec().userObject() instanceof Callable<?>;
      }
      last = last.subcommand();
    }
  }
}
