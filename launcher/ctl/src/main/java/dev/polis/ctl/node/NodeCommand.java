package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.Node;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Groups the commands for nodes. */
@Command(
    name = "node",
    description = "Shows, approves and removes the nodes of the cluster, and changes their roles.")
@Subcommands({
  NodeCommand.ListCommand.class,
  NodeCommand.DescribeCommand.class,
  NodeApproveCommand.class,
  NodeDecommissionCommand.class,
  NodeDeleteCommand.class,
  NodeCommand.LogsCommand.class,
  NodeRoleCommand.class,
  NodeRestartCommand.class,
  NodeRebootCommand.class,
  NodeUpdateCommand.class
})
public final class NodeCommand {

  /** Finds the nodes an operator named; all if none was. */
  public static List<Node> chosen(Session session, List<String> ids, String filter)
      throws InterruptedException {
    List<Node> nodes = NodeRows.fetch(session, filter);
    for (String id : ids) {
      if (nodes.stream().noneMatch(node -> node.getId().equals(id))) {
        throw new CtlException(
            ExitCode.NOT_FOUND,
            "there is no node \"%s\"; the nodes are %s"
                .formatted(id, nodes.stream().map(Node::getId).toList()));
      }
    }
    return nodes.stream().filter(node -> ids.isEmpty() || ids.contains(node.getId())).toList();
  }

  /** Finds the one node an operator named; the only one if none was named. */
  static Node single(Session session, List<String> ids) throws InterruptedException {
    List<Node> nodes = chosen(session, ids, "");
    if (nodes.size() != 1) {
      throw new CtlException(
          ExitCode.USAGE,
          "the cluster has %d nodes; name one of %s"
              .formatted(nodes.size(), nodes.stream().map(Node::getId).toList()));
    }
    return nodes.getFirst();
  }

  /** Returns the place of a node; of an only node that which the session has reached already. */
  static Place place(Session session, List<Node> nodes, Node node) {
    return nodes.size() == 1 ? session.here() : Place.of(node);
  }

  /** The nodes as a table. */
  @Command(name = "list", description = "Lists nodes.")
  static final class ListCommand extends SessionCommand {
    @Parameters(paramLabel = "ID", description = "only these nodes")
    List<String> ids = List.of();

    @Option(
        names = "--filter",
        paramLabel = "CEL",
        description = "only nodes for which this is true, such as 'node.state == NODE_STATE_UP'")
    String filter = "";

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      return print(NodeRows.ALL.document(chosen(session, ids, filter)));
    }
  }

  /** One node, everything. */
  @Command(name = "describe", description = "Shows all that is known of nodes.")
  static final class DescribeCommand extends SessionCommand {
    @Parameters(paramLabel = "ID", description = "which nodes; all if none is named")
    List<String> ids = List.of();

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      List<Node> nodes = chosen(session, ids, "");
      if (!options().output.isForPeople()) {
        return print(NodeRows.ALL.document(nodes));
      }
      nodes.forEach(this::describe);
      return ExitCode.OK;
    }

    private void describe(Node each) {
      NodeRows.ALL
          .json(each)
          .asMap()
          .forEach((key, value) -> out().printf("%-12s %s%n", key + ":", NodeRows.text(value)));
      out().println();
    }
  }

  /** Prints the log of a node. */
  @Command(name = "logs", description = "Shows the log of a node.")
  static final class LogsCommand extends SessionCommand {

    @Mixin LogPrinter printer = new LogPrinter();

    @Parameters(
        arity = "0..1",
        paramLabel = "ID",
        description = "the node; optional if there is only one")
    List<String> ids = List.of();

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      Node chosen = NodeCommand.single(session, ids);
      Place place = Place.of(chosen);
      LogsRequest request = printer.request(spec.commandLine());
      out().printf("=== Logs from %s (%s):%n", chosen.getId(), place.host());
      session.stream(() -> LogPrinter.print(request, session.node(place)::logs, out()));
      out().println("=== Done.");
      return ExitCode.OK;
    }
  }
}
