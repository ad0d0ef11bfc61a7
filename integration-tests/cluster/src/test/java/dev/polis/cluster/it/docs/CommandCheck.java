package dev.polis.cluster.it.docs;

import dev.polis.ctl.Ctl;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Checks that commands of the pages exist, with their options, without running them. */
final class CommandCheck {

  private static final String SCRIPT = "./polis";
  private static final String CTL = "polisctl";
  private static final Pattern COMMENT = Pattern.compile("\\s+#.*");
  private static final Pattern END = Pattern.compile("[|;&>]");

  private static final PrintWriter NOWHERE = new PrintWriter(Writer.nullWriter());

  private final String help;

  /**
   * Makes a check.
   *
   * @param help the output of {@code ./polis help}
   */
  CommandCheck(String help) {
    this.help = help;
  }

  static boolean concerns(String text) {
    return text.startsWith(SCRIPT + " ") || text.startsWith(CTL + " ");
  }

  /** Returns the fault of a command; empty if it exists. */
  Optional<String> fault(String text) {
    String first = END.split(COMMENT.matcher(text).replaceFirst(""))[0];
    List<String> words = Arrays.asList(first.strip().split("\\s+"));
    if (words.getFirst().equals(CTL)) {
      return ctlFault(words.subList(1, words.size()));
    }
    if (words.size() > 1 && words.get(1).equals("ctl")) {
      return ctlFault(words.subList(2, words.size()));
    }
    return scriptFault(words);
  }

  private Optional<String> scriptFault(List<String> words) {
    String command = "polis " + (words.size() > 1 ? words.get(1) : "");
    if (!command.equals("polis help") && help.lines().noneMatch(line -> line.startsWith(command))) {
      return Optional.of("./polis help does not list \"" + command + "\"");
    }
    // Maven and the benchmarks check their own arguments.
    if (command.equals("polis test") || command.equals("polis bench")) {
      return Optional.empty();
    }
    return words.stream()
        .filter(word -> word.startsWith("--"))
        .filter(option -> !Pattern.compile(option + "\\b").matcher(help).find())
        .map(option -> "./polis help does not list " + option)
        .findFirst();
  }

  private static Optional<String> ctlFault(List<String> words) {
    try {
      Ctl.commandLine(NOWHERE, NOWHERE).parseArgs(words.toArray(String[]::new));
      return Optional.empty();
    } catch (UnmatchedArgumentException e) {
      return Optional.of(e.getMessage());
    } catch (ParameterException incomplete) {
      // A sentence may leave out required arguments of a command, but not name unknown ones.
      return Optional.empty();
    }
  }
}
