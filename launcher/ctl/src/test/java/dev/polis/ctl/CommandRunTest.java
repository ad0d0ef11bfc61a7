package dev.polis.ctl;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.session.ExitCode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Checks that a part of the commands' model gives the same answers as the whole one. */
class CommandRunTest {

  /** Each line begins with all options at their defaults, so one model reads them all. */
  private static final CommandLine WHOLE = CommandTree.whole();

  @TempDir Path folder;

  private static CtlRun whole(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        Ctl.prepared(WHOLE, new PrintWriter(out, true), new PrintWriter(err, true))
            .execute(arguments);
    return new CtlRun(code, out.toString(), err.toString());
  }

  /** Runs a line as {@link CtlRun#of} does, without a new whole model for each. */
  static CtlRun inPart(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        new CommandRun(
                arguments, new PrintWriter(out, true), new PrintWriter(err, true), () -> WHOLE)
            .execute();
    return new CtlRun(code, out.toString(), err.toString());
  }

  static Stream<String> paths() {
    return CtlTest.commands().stream()
        .map(command -> command.getCommandSpec().qualifiedName())
        .map(name -> name.substring(name.indexOf(' ') + 1))
        .filter(name -> !name.equals("polisctl"));
  }

  @Test
  void onlyTheCommandsThatAreNamedAreRead() {
    CommandLine line = CommandTree.named(Set.of("node", "list", "--state"));
    assertEquals(Set.of("node"), line.getSubcommands().keySet());
    assertEquals(Set.of("list"), line.getSubcommands().get("node").getSubcommands().keySet());
  }

  @ParameterizedTest
  @MethodSource("paths")
  void helpAndMistypedWordsAreAnsweredByAllCommands(String path) {
    for (String more : new String[] {" --help", "x"}) {
      String[] words = (path + more).split(" ");
      assertEquals(whole(words), inPart(words), path + more);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--help",
        "--version",
        "-h node",
        "nod list",
        "node",
        "node lst",
        "node role",
        "--output xml node list",
        "-o dot node list --state .",
        "node list --state /nowhere/list",
        "list node",
        "audit verify extra",
        "audit verif",
        "completion bash",
        "completion",
        "explain nothing-of-the-kind"
      })
  void everyLineIsAnsweredAsByAllCommands(String line) {
    String[] words = line.isEmpty() ? new String[0] : line.split(" ");
    assertEquals(whole(words), CtlRun.of(words));
  }

  @Test
  void wordsInAFile_areUnderstood() throws Exception {
    Path file = Files.writeString(folder.resolve("words"), "context list --config " + folder);
    CtlRun run = CtlRun.of("@" + file);
    assertAll(
        () -> assertEquals(ExitCode.OK.code(), run.code(), run.err()),
        () -> assertTrue(run.out().startsWith("NAME"), run.out()));
  }

  @Test
  void aCommandThatRefusesItsArgumentsWhileItRuns_isNotRunAgain() {
    String[] words = {"node", "list", "-o", "dot", "--state", folder.toString()};
    CtlRun run = CtlRun.of(words);
    assertEquals(whole(words), run);
    assertEquals(1, Arrays.stream(run.err().split("\n")).filter(l -> l.contains("dot")).count());
  }
}
