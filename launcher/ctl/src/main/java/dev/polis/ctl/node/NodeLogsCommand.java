package dev.polis.ctl.node;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.Node;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Prints the log of a node. */
@Command(name = "logs", description = "Shows the log of a node.")
final class NodeLogsCommand extends SessionCommand {

  @Mixin LogPrinter printer = new LogPrinter();

  @Parameters(
      arity = "0..1",
      paramLabel = "ID",
      description = "the node; optional if there is only one")
  List<String> ids = List.of();

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    Node chosen = NodeCommand.single(session, ids);
    String address = NodeCommand.address(chosen);
    LogsRequest request = printer.request(spec.commandLine());
    out().printf("=== Logs from %s (%s):%n", chosen.getId(), address);
    session.stream(() -> LogPrinter.print(request, session.node(address)::logs, out()));
    out().println("=== Done.");
    return ExitCode.OK;
  }
}
