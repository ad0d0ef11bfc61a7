package dev.polis.ctl;

import com.google.gson.JsonObject;
import dev.polis.ctl.Document.Column;
import dev.polis.wire.debug.GetConditionRequest;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** What a node says without asking who wants to know. */
@Command(
    name = "debug",
    description = "Asks the debug service of a node, which needs no credentials.",
    mixinStandardHelpOptions = true,
    subcommands = {DebugCommand.Condition.class, DebugCommand.Logs.class})
final class DebugCommand {

  @ParentCommand Ctl ctl;

  /** One condition. */
  @Command(
      name = "condition",
      description = "Tells whether a condition holds. Exit code 5 if it does not.",
      mixinStandardHelpOptions = true)
  static final class Condition implements Callable<Integer> {
    @ParentCommand DebugCommand debug;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "such as IPAssigned or DataAvailable")
    String name;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(debug.ctl.options)) {
        GetConditionRequest request = GetConditionRequest.newBuilder().setName(name).build();
        boolean ok = session.call(() -> session.debug().getCondition(request).getOk());
        JsonObject row = new JsonObject();
        row.addProperty("condition", name);
        row.addProperty("ok", ok);
        debug.ctl.options.output.print(
            Document.single(row, Column.of("CONDITION", "condition"), Column.of("OK", "ok")),
            spec.commandLine().getOut());
        return (ok ? ExitCode.OK : ExitCode.NOT_MET).code();
      }
    }
  }

  /** The log, also of a node that does not come up. */
  @Command(
      name = "logs",
      description = "Shows the log of a node, also of one that does not come up.",
      mixinStandardHelpOptions = true)
  static final class Logs implements Callable<Integer> {
    @ParentCommand DebugCommand debug;
    @Spec CommandSpec spec;
    @Mixin LogPrinter printer = new LogPrinter();

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(debug.ctl.options)) {
        session.call(
            () ->
                LogPrinter.print(
                    session.nodeDebug().logs(printer.request(spec.commandLine())),
                    spec.commandLine().getOut()));
        return ExitCode.OK.code();
      }
    }
  }
}
