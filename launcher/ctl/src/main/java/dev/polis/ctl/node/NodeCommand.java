package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.api.Node;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for nodes. */
@Command(
    name = "node",
    description = "Shows and approves the nodes of the cluster, and changes their roles.",
    mixinStandardHelpOptions = true)
@Subcommands({
  NodeCommand.ListCommand.class,
  NodeCommand.DescribeCommand.class,
  NodeApproveCommand.class,
  NodeLogsCommand.class,
  NodeRoleCommand.class,
  NodeRestartCommand.class
})
public final class NodeCommand {

  @ParentCommand CtlRoot ctl;

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

  /** Returns where a node can be asked. */
  public static String address(Node node) {
    String address = node.getStatus().getExternalAddress();
    if (address.isEmpty()) {
      throw new CtlException(
          ExitCode.FAILED, node.getId() + " has not reported an address yet; ask again soon");
    }
    return address;
  }

  /** The nodes as a table. */
  @Command(name = "list", description = "Lists nodes.", mixinStandardHelpOptions = true)
  static final class ListCommand implements Callable<Integer> {
    @ParentCommand NodeCommand node;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "ID", description = "only these nodes")
    List<String> ids = List.of();

    @Option(
        names = "--filter",
        paramLabel = "CEL",
        description = "only nodes for which this is true, such as 'node.state == NODE_STATE_UP'")
    String filter = "";

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(node.ctl.options)) {
        List<Node> nodes = chosen(session, ids, filter);
        node.ctl.options.output.print(NodeRows.document(nodes), spec.commandLine().getOut());
        return ExitCode.OK.code();
      }
    }
  }

  /** One node, everything. */
  @Command(
      name = "describe",
      description = "Shows all that is known of nodes.",
      mixinStandardHelpOptions = true)
  static final class DescribeCommand implements Callable<Integer> {
    @ParentCommand NodeCommand node;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "ID", description = "which nodes; all if none is named")
    List<String> ids = List.of();

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(node.ctl.options)) {
        List<Node> nodes = chosen(session, ids, "");
        Output output = node.ctl.options.output;
        if (output == Output.table || output == Output.wide) {
          nodes.forEach(this::print);
        } else {
          JsonArray rows = new JsonArray();
          nodes.forEach(each -> rows.add(NodeRows.row(each)));
          output.print(Document.rows(rows), spec.commandLine().getOut());
        }
        return ExitCode.OK.code();
      }
    }

    private void print(Node each) {
      JsonObject row = NodeRows.row(each);
      row.entrySet()
          .forEach(
              field ->
                  spec.commandLine()
                      .getOut()
                      .printf("%-12s %s%n", field.getKey() + ":", NodeRows.text(field.getValue())));
      spec.commandLine().getOut().println();
    }
  }
}
