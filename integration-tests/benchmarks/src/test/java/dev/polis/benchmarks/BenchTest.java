package dev.polis.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Gives the benchmarks' command line wrong arguments, with which nothing starts. */
class BenchTest {

  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    return new CommandLine(new Bench()).setErr(new PrintWriter(err, true)).execute(arguments);
  }

  @Test
  @DisplayName("an unknown part is refused, and the message lists the parts")
  void unknownPart() {
    assertEquals(CommandLine.ExitCode.USAGE, run("--only", "clusters"));
    String said = err.toString();
    assertTrue(said.contains("clusters"), said);
    assertTrue(said.contains("kubernetes, cluster"), said);
  }

  @Test
  @DisplayName("no loss of a leader is no number of losses")
  void noLoss() {
    assertEquals(CommandLine.ExitCode.USAGE, run("--only", "cluster", "--losses", "0"));
    assertTrue(err.toString().contains("--losses 0: give 1 or more"), err::toString);
  }

  @Test
  @DisplayName("a number of losses that is none is named")
  void lossesThatAreNoNumber() {
    assertEquals(CommandLine.ExitCode.USAGE, run("--losses", "many"));
    assertTrue(err.toString().contains("'many' is not an int"), err::toString);
  }
}
