package dev.polis.ctl.node;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.Node;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Prints the log of a node. */
@Command(name = "logs", description = "Shows the log of a node.", mixinStandardHelpOptions = true)
final class NodeLogsCommand implements Callable<Integer> {

  @ParentCommand NodeCommand node;
  @Spec CommandSpec spec;
  @Mixin LogPrinter printer = new LogPrinter();

  @Parameters(
      arity = "0..1",
      paramLabel = "ID",
      description = "the node; optional if there is only one")
  List<String> ids = List.of();

  @Override
  public Integer call() throws InterruptedException {
    try (Session session = Session.open(node.ctl.options)) {
      Node chosen = NodeCommand.single(session, ids);
      PrintWriter out = spec.commandLine().getOut();
      String address = NodeCommand.address(chosen);
      LogsRequest request = printer.request(spec.commandLine());
      out.printf("=== Logs from %s (%s):%n", chosen.getId(), address);
      session.stream(() -> LogPrinter.print(request, session.node(address)::logs, out));
      out.println("=== Done.");
      return ExitCode.OK.code();
    }
  }
}
