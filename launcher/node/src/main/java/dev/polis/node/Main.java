package dev.polis.node;

import dev.polis.base.posix.Machine;
import java.io.IOException;
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
    int code = run(arguments);
    if (Machine.isFirstProcess() && arguments.length > 0 && arguments[0].equals("run")) {
      Pid1Duties.endMachine(code, line -> System.err.println("polis: " + line));
    }
    System.exit(code);
  }

  static int run(String... arguments) {
    CommandLine line = new CommandLine(new Main());
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setParameterExceptionHandler(Main::misused);
    line.setExecutionExceptionHandler((error, command, result) -> failed(error));
    return arguments.length == 0 ? line.execute("--help") : line.execute(arguments);
  }

  private static int misused(ParameterException error, String[] arguments) {
    System.err.println("polis: " + error.getMessage());
    System.err.println(
        "polis: see: " + error.getCommandLine().getCommandSpec().qualifiedName() + " --help");
    return Exit.USAGE;
  }

  /** Prints the root cause as the last line, whatever was printed before. */
  private static int failed(Exception error) {
    if (error instanceof Refusal refusal) {
      System.err.println("polis: " + refusal.getMessage());
      return refusal.exitCode();
    }
    if (!(error instanceof IOException)) {
      error.printStackTrace();
    }
    System.err.println("polis: " + RootCause.of(error));
    return Exit.FAILED;
  }
}
