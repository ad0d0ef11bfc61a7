package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import dev.polis.ctl.node.NodeCommand;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.api.Node;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows what nodes run beside what they should run. */
@Command(
    name = "diff",
    description = {
      "Shows for each node its plugins, the wanted ones with the deciding scope, and why it does"
          + " not run those yet; and the differences from the node's distribution.",
      "Exit code 5 if a node does not run the wanted plugins."
    })
final class PluginDiffCommand extends SessionCommand {
  @Parameters(paramLabel = "NODE", description = "only these nodes, by their ids")
  List<String> ids = List.of();

  @Option(
      names = "--all",
      description = "also the plugins that run as they came with the distribution")
  boolean all;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    PluginSetView view = PluginSetView.fetch(session);
    List<Node> nodes = NodeCommand.chosen(session, ids, "");
    JsonArray rows = PluginSetRows.of(view, nodes, all);
    if (rows.isEmpty() && options().output.isForPeople()) {
      out().println("each node runs its distribution, and the cluster wants nothing else");
    } else {
      print(PluginSetRows.document(rows));
    }
    return PluginSetRows.areAsWanted(rows) ? ExitCode.OK : ExitCode.NOT_MET;
  }
}
