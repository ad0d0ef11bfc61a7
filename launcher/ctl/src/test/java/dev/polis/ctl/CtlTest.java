package dev.polis.ctl;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;

/** Runs the command line itself, without a node. */
class CtlTest {

  @TempDir Path folder;

  static List<CommandLine> commands() {
    PrintWriter nowhere = new PrintWriter(new StringWriter());
    List<CommandLine> all = new ArrayList<>(List.of(Ctl.commandLine(nowhere, nowhere)));
    for (int i = 0; i < all.size(); i++) {
      // Aliases list a command twice, so each is taken once.
      all.addAll(new HashSet<>(all.get(i).getSubcommands().values()));
    }
    return all;
  }

  private static String[] words(CommandLine command, String... more) {
    Stream<String> path =
        Arrays.stream(command.getCommandSpec().qualifiedName().split(" ")).skip(1);
    return Stream.concat(path, Stream.of(more)).toArray(String[]::new);
  }

  @Test
  void hintsArePastedForTheSameCluster() {
    CtlOptions options = new CtlOptions();
    assertEquals("polisctl node list", options.command("node list"));

    options.state = Path.of("/var/lib/it's mine");
    options.config = Path.of("/etc/polis");
    options.endpoint = "fd00::1";

    assertEquals(
        "polisctl --config /etc/polis --state '/var/lib/it'\\''s mine' --endpoint fd00::1 node list",
        options.command("node list"));
  }

  @ParameterizedTest
  @MethodSource("commands")
  void everyCommandHasHelp(CommandLine command) {
    CtlRun run = CommandRunTest.inPart(words(command, "--help"));
    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertTrue(
        run.out().startsWith("Usage: " + command.getCommandSpec().qualifiedName()), run.out());
  }

  @ParameterizedTest
  @MethodSource("commands")
  void everyCommandAndArgumentIsDescribed(CommandLine command) {
    assertTrue(command.getCommandSpec().usageMessage().description().length > 0);
    for (ArgSpec argument : command.getCommandSpec().args()) {
      assertTrue(argument.description().length > 0, argument.toString());
    }
  }

  @ParameterizedTest
  @MethodSource("commands")
  void everyCommandRefusesWhatItDoesNotKnow(CommandLine command) {
    CtlRun run = CommandRunTest.inPart(words(command, "--no-such-option"));
    assertEquals(ExitCode.USAGE.code(), run.code());
    assertTrue(run.err().contains("--help'"), run.err());
    assertEquals("", run.out());
  }

  @Test
  void helpListsAllExitCodes() {
    String help = CtlRun.of("--help").out();
    for (ExitCode code : ExitCode.values()) {
      assertTrue(help.lines().anyMatch(line -> line.matches(" +" + code.code() + " +\\S.*")), help);
    }
  }

  @Test
  void withoutACommand_usage() {
    assertEquals(ExitCode.USAGE.code(), CtlRun.of().code());
    assertEquals(ExitCode.USAGE.code(), CtlRun.of("node").code());
  }

  @Test
  void aMistypedCommand_isSuggestedRight() {
    CtlRun run = CtlRun.of("node", "lst");
    assertEquals(ExitCode.USAGE.code(), run.code());
    assertTrue(run.err().contains("node list"), run.err());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "node list -o xml",
        "node list --timeout 0",
        "node list --timeout soon",
        "health --wait -1",
        "debug logs --backlog -2",
        "debug logs --severity LOUD",
        "bundle stop",
        "params make",
        "takeownership --accept-ca SHA256:abc",
        "node list --context lab",
        "context add ../up 127.0.0.1",
        "context add lab http://127.0.0.1/",
        "completion tcsh"
      })
  void wrongArguments_areUsage_andNamed(String line) {
    List<String> words = new ArrayList<>(List.of(line.split(" ")));
    words.addAll(List.of("--state", folder.toString(), "--config", folder.toString()));
    CtlRun run = CtlRun.of(words.toArray(String[]::new));
    assertEquals(ExitCode.USAGE.code(), run.code(), run.err());
    assertTrue(run.err().startsWith("polisctl: "), run.err());
    assertFalse(run.err().contains("defect"), run.err());
  }

  @Test
  void withoutTheOwnersFiles_theRemedyIsNamed() {
    CtlRun run = CtlRun.of("node", "list", "--state", folder.toString());
    assertEquals(ExitCode.NOT_FOUND.code(), run.code());
    assertAll(
        () -> assertTrue(run.err().contains(folder.resolve("owner").toString()), run.err()),
        () -> assertTrue(run.err().contains("takeownership"), run.err()),
        () -> assertEquals("", run.out()));
  }

  @Test
  void aDamagedContextsFile_doesNotMatterWhenAStateDirectoryIsNamed() throws Exception {
    Files.writeString(folder.resolve("contexts.yaml"), "hello");
    CtlOptions options = new CtlOptions();
    options.config = folder;
    options.state = folder;
    assertEquals(folder.toString(), options.target().name());
  }

  @Test
  void contexts_areAddedListedAndChosen() {
    String config = folder.toString();
    assertEquals(0, CtlRun.of("context", "add", "lab", "127.0.41.2", "--config", config).code());
    assertEquals(0, CtlRun.of("context", "add", "home", "127.0.41.3", "--config", config).code());
    assertEquals(0, CtlRun.of("context", "use", "lab", "--config", config).code());
    assertEquals(4, CtlRun.of("context", "use", "lap", "--config", config).code());
    assertEquals(
        """
        NAME   ENDPOINT     CURRENT
        home   127.0.41.3   false
        lab    127.0.41.2   true
        """,
        CtlRun.of("context", "list", "--config", config).out());
  }

  @Test
  void completion_isAScriptThatKnowsTheCommands() {
    String script = CtlRun.of("completion", "bash").out();
    assertTrue(script.contains("complete -F _complete_polisctl"), "it registers itself");
    Set<String> missing = new HashSet<>();
    for (CommandLine command : commands()) {
      if (!command.getCommandSpec().usageMessage().hidden()
          && !script.contains(command.getCommandName())) {
        missing.add(command.getCommandName());
      }
    }
    assertEquals(Set.of(), missing);
  }
}
