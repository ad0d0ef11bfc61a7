package dev.polis.ctl;

import dev.polis.ctl.console.ConsoleCommand;
import dev.polis.ctl.kube.ImageCommand;
import dev.polis.ctl.kube.KubeCommand;
import dev.polis.ctl.kube.KubeCredentialsCommand;
import dev.polis.ctl.kube.KubeconfigCommand;
import dev.polis.ctl.node.AuditCommand;
import dev.polis.ctl.node.BundleCommand;
import dev.polis.ctl.node.ClusterCommand;
import dev.polis.ctl.node.ConfigCommand;
import dev.polis.ctl.node.DebugCommand;
import dev.polis.ctl.node.EtcdCommand;
import dev.polis.ctl.node.ExplainCommand;
import dev.polis.ctl.node.HealthCommand;
import dev.polis.ctl.node.NodeCommand;
import dev.polis.ctl.node.ShellCommand;
import dev.polis.ctl.owner.CaCommand;
import dev.polis.ctl.owner.CertCommand;
import dev.polis.ctl.owner.ContextCommand;
import dev.polis.ctl.owner.OperatorCommand;
import dev.polis.ctl.owner.OwnerCommand;
import dev.polis.ctl.owner.ParamsCommand;
import dev.polis.ctl.owner.RecoveryKeyCommand;
import dev.polis.ctl.owner.TakeOwnershipCommand;
import dev.polis.ctl.plugin.PluginCommand;
import dev.polis.ctl.plugin.PluginGraphCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.PrintableWriter;
import dev.polis.ctl.session.Subcommands;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.rpc.RpcClientThreads;
import java.io.PrintWriter;
import java.util.Collections;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;

/** The command line. */
@Command(
    name = "polisctl",
    description = "Operates a Polis cluster.",
    versionProvider = Ctl.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:refused or failed; standard error says why",
      "2:the command line was wrong",
      "3:no answer from the node, or it cannot give one now",
      "4:the requested object does not exist",
      "5:not healthy, or condition not met"
    })
@Subcommands({
  TakeOwnershipCommand.class,
  HealthCommand.class,
  ConsoleCommand.class,
  AuditCommand.class,
  NodeCommand.class,
  ClusterCommand.class,
  EtcdCommand.class,
  BundleCommand.class,
  PluginCommand.class,
  ConfigCommand.class,
  DebugCommand.class,
  ShellCommand.class,
  ParamsCommand.class,
  CaCommand.class,
  CertCommand.class,
  OwnerCommand.class,
  OperatorCommand.class,
  RecoveryKeyCommand.class,
  KubeCommand.class,
  KubeconfigCommand.class,
  KubeCredentialsCommand.class,
  ImageCommand.class,
  ContextCommand.class,
  ExplainCommand.class,
  CompletionCommand.class
})
public final class Ctl extends CtlRoot {

  /** Prints the version. */
  static final class Version implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {"polisctl " + PlatformVersion.current()};
    }
  }

  /** Runs one command and ends the process with its exit code. */
  public static void main(String[] arguments) {
    System.exit(asksForText(arguments) ? run(arguments) : prepared(() -> run(arguments)));
  }

  /** Returns whether the command prints a text of its own, for which no channel is prepared. */
  private static boolean asksForText(String[] arguments) {
    return arguments.length == 0
        || !Collections.disjoint(List.of(arguments), List.of("--help", "-h", "--version", "-V"));
  }

  /**
   * Runs a program that consists of commands in this process, which share the threads of their
   * connections; their libraries are silent.
   *
   * @return the program's exit code
   */
  public static int prepared(IntSupplier program) {
    try (RpcClientThreads _ = RpcClientThreads.open(Quiet::begin)) {
      return program.getAsInt();
    }
  }

  private static int run(String[] arguments) {
    return run(arguments, new PrintWriter(System.out, true), new PrintWriter(System.err, true));
  }

  /**
   * Runs one command in this process, which others may do as often as they like, at the same time
   * too: nothing is kept.
   *
   * @return the exit code
   */
  public static int run(String[] arguments, PrintWriter out, PrintWriter err) {
    return new CommandRun(arguments, out, err).execute();
  }

  /** Returns the whole command line, with all commands. */
  public static CommandLine commandLine(PrintWriter out, PrintWriter err) {
    return prepared(CommandTree.whole(), out, err);
  }

  /** Sets how a model of the command line answers. */
  static CommandLine prepared(CommandLine line, PrintWriter out, PrintWriter err) {
    line.setCommandName(CtlName.called());
    line.setOut(out);
    line.setErr(err);
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setParameterExceptionHandler(Ctl::misused);
    line.setExecutionStrategy(Ctl::execute);
    line.setExecutionExceptionHandler(Ctl::failed);
    return line;
  }

  /**
   * Refuses an output that a command does not have, before the command does anything. What it
   * prints may come from a node, and is printed without what drives a terminal; help does not pass
   * here.
   */
  static int execute(CommandLine.ParseResult parsed) {
    Ctl ctl = parsed.commandSpec().commandLine().getCommand();
    CommandLine.ParseResult last = parsed;
    while (last.hasSubcommand()) {
      last = last.subcommand();
    }
    CommandLine command = last.commandSpec().commandLine();
    if (ctl.options.output == Output.dot && !(command.getCommand() instanceof PluginGraphCommand)) {
      throw new ParameterException(command, Output.noGraph().getMessage());
    }
    command.setOut(new PrintableWriter(command.getOut()));
    command.setErr(new PrintableWriter(command.getErr()));
    return new CommandLine.RunLast().execute(parsed);
  }

  static int misused(ParameterException wrong, String[] arguments) {
    CommandLine line = wrong.getCommandLine();
    line.getErr().println("polisctl: " + wrong.getMessage());
    CommandLine.UnmatchedArgumentException.printSuggestions(wrong, line.getErr());
    line.getErr().println("Try '" + line.getCommandSpec().qualifiedName() + " --help'.");
    return ExitCode.USAGE.code();
  }

  private static int failed(Exception failure, CommandLine line, CommandLine.ParseResult parsed) {
    if (failure instanceof CtlException refusal) {
      line.getErr().println("polisctl: " + refusal.getMessage());
      return refusal.exitCode().code();
    }
    if (failure instanceof InterruptedException) {
      line.getErr().println("polisctl: interrupted");
      return ExitCode.FAILED.code();
    }
    line.getErr().println("polisctl: this is a defect of polisctl; please report it with:");
    failure.printStackTrace(line.getErr());
    return ExitCode.FAILED.code();
  }

  /** Silences libraries. A class of its own, so that it is another thread that sets up logging. */
  private static final class Quiet {
    /**
     * Libraries that log what they also throw, and what no operator can do anything about. Held,
     * since the JDK forgets the level of a logger without a reference.
     */
    private static final List<Logger> LIBRARIES =
        List.of(
            Logger.getLogger("io.netty"),
            Logger.getLogger("io.grpc"),
            Logger.getLogger("org.jline"));

    static void begin() {
      LIBRARIES.forEach(library -> library.setLevel(Level.OFF));
    }
  }
}
