package dev.polis.ctl.node;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.debug.GetConditionRequest;
import dev.polis.wire.debug.ListConditionsRequest;
import dev.polis.wire.debug.NamedCondition;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Reads state and logs of a node without credentials, from its debug service. */
@Command(
    name = "debug",
    description = "Asks the debug service of a node, which needs no credentials.")
@Subcommands({DebugCommand.Condition.class, DebugCommand.Logs.class})
public final class DebugCommand {

  /** One condition, or all. */
  @Command(
      name = "condition",
      description =
          "Shows whether a condition holds; without a name, lists all conditions."
              + " Exit code 5 if the named one does not.")
  static final class Condition extends SessionCommand {
    private static final Rows<NamedCondition> ROWS =
        new Rows<NamedCondition>()
            .column("CONDITION", "condition", NamedCondition::getName)
            .column("OK", "ok", NamedCondition::getOk);

    @Parameters(
        arity = "0..1",
        paramLabel = "NAME",
        description = "such as IPAssigned or DataAvailable; all are listed if none is given")
    String name = "";

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      if (name.isEmpty()) {
        ListConditionsRequest all = ListConditionsRequest.getDefaultInstance();
        return print(
            ROWS.document(
                session.call(() -> session.debug().listConditions(all)).getConditionsList()));
      }
      GetConditionRequest request = GetConditionRequest.newBuilder().setName(name).build();
      boolean ok = session.call(() -> session.debug().getCondition(request)).getOk();
      print(ROWS.single(NamedCondition.newBuilder().setName(name).setOk(ok).build()));
      return ok ? ExitCode.OK : ExitCode.NOT_MET;
    }
  }

  /** The log, also of a node that does not come up. */
  @Command(
      name = "logs",
      description = "Shows the log of a node, also of one that does not come up.")
  static final class Logs extends SessionCommand {
    @Mixin LogPrinter printer = new LogPrinter();

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      return session.stream(
          () ->
              LogPrinter.print(
                  printer.request(spec.commandLine()), session.nodeDebug()::logs, out()));
    }
  }
}
