package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.debug.GetConditionRequest;
import dev.polis.wire.debug.ListConditionsRequest;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Reads state and logs of a node without credentials, from its debug service. */
@Command(
    name = "debug",
    description = "Asks the debug service of a node, which needs no credentials.",
    mixinStandardHelpOptions = true)
@Subcommands({DebugCommand.Condition.class, DebugCommand.Logs.class})
public final class DebugCommand {

  @ParentCommand CtlRoot ctl;

  /** One condition, or all. */
  @Command(
      name = "condition",
      description =
          "Shows whether a condition holds; without a name, lists all conditions."
              + " Exit code 5 if the named one does not.",
      mixinStandardHelpOptions = true)
  static final class Condition implements Callable<Integer> {
    @ParentCommand DebugCommand debug;
    @Spec CommandSpec spec;

    @Parameters(
        arity = "0..1",
        paramLabel = "NAME",
        description = "such as IPAssigned or DataAvailable; all are listed if none is given")
    String name = "";

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(debug.ctl.options)) {
        return (name.isEmpty() ? list(session) : one(session)).code();
      }
    }

    private ExitCode one(Session session) throws InterruptedException {
      GetConditionRequest request = GetConditionRequest.newBuilder().setName(name).build();
      boolean ok = session.call(() -> session.debug().getCondition(request).getOk());
      print(Document.single(row(name, ok), columns()));
      return ok ? ExitCode.OK : ExitCode.NOT_MET;
    }

    private ExitCode list(Session session) throws InterruptedException {
      JsonArray rows = new JsonArray();
      session
          .call(() -> session.debug().listConditions(ListConditionsRequest.getDefaultInstance()))
          .getConditionsList()
          .forEach(condition -> rows.add(row(condition.getName(), condition.getOk())));
      print(Document.rows(rows, columns()));
      return ExitCode.OK;
    }

    private static JsonObject row(String name, boolean ok) {
      JsonObject row = new JsonObject();
      row.addProperty("condition", name);
      row.addProperty("ok", ok);
      return row;
    }

    private static Document.Column[] columns() {
      return new Document.Column[] {Column.of("CONDITION", "condition"), Column.of("OK", "ok")};
    }

    private void print(Document document) {
      debug.ctl.options.output.print(document, spec.commandLine().getOut());
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
        session.stream(
            () ->
                LogPrinter.print(
                    printer.request(spec.commandLine()),
                    session.nodeDebug()::logs,
                    spec.commandLine().getOut()));
        return ExitCode.OK.code();
      }
    }
  }
}
