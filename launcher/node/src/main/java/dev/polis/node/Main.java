package dev.polis.node;

import dev.polis.base.posix.Machine;
import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.node.exit.RootCause;
import dev.polis.node.init.Pid1Duties;
import java.io.IOException;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;

/** The launcher's command line. */
@Command(
    name = "polis-node",
    description = "Runs and stops one node.",
    mixinStandardHelpOptions = true,
    version = "Polis 0.1.0",
    subcommands = {RunCommand.class, PlanCommand.class, StopCommand.class, AssembleCommand.class})
public final class Main {
  private Main() {}

  /**
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    int code = run(arguments, new PrintWriter(System.err, true));
    if (Machine.isFirstProcess() && arguments.length > 0 && arguments[0].equals("run")) {
      Pid1Duties.endMachine(code, line -> System.err.println("polis: " + line));
    }
    System.exit(code);
  }

  /**
   * Runs one command in this process, and prints its messages there. Tests stop their nodes so,
   * without a JVM for each stop.
   *
   * @return the exit code
   */
  public static int run(String[] arguments, PrintWriter err) {
    CommandLine line = new CommandLine(new Main()).setErr(err);
    try {
      line.setCaseInsensitiveEnumValuesAllowed(true);
      line.setParameterExceptionHandler(Main::misused);
      line.setExecutionExceptionHandler((error, command, result) -> failed(error, err));
      return arguments.length == 0 ? line.execute("--help") : line.execute(arguments);
    } catch (Error error) {
      // The library catches exceptions alone. Without an exit threads of the framework may stay.
      return failed(error, err);
    }
  }

  private static int misused(ParameterException error, String[] arguments) {
    CommandLine line = error.getCommandLine();
    line.getErr().println("polis: " + error.getMessage());
    line.getErr().println("polis: see: " + line.getCommandSpec().qualifiedName() + " --help");
    return Exit.USAGE;
  }

  /** Prints the root cause as the last line, whatever was printed before. */
  private static int failed(Throwable error, PrintWriter err) {
    if (error instanceof Refusal refusal) {
      err.println("polis: " + refusal.getMessage());
      return refusal.exitCode();
    }
    if (!(error instanceof IOException)) {
      error.printStackTrace(err);
    }
    err.println("polis: " + RootCause.of(error));
    return Exit.FAILED;
  }
}
