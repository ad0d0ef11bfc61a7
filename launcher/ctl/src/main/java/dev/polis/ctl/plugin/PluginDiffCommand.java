package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import dev.polis.ctl.node.NodeCommand;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Shows what nodes run beside what they should run. */
@Command(
    name = "diff",
    description = {
      "Shows for each node its plugins, the wanted ones with the deciding scope, and why it does"
          + " not run those yet; and the differences from the node's distribution.",
      "Exit code 5 if a node does not run the wanted plugins."
    },
    mixinStandardHelpOptions = true)
final class PluginDiffCommand implements Callable<Integer> {
  @ParentCommand PluginCommand plugin;
  @Spec CommandSpec spec;

  @Parameters(paramLabel = "NODE", description = "only these nodes, by their ids")
  List<String> ids = List.of();

  @Option(
      names = "--all",
      description = "also the plugins that run as they came with the distribution")
  boolean all;

  @Override
  public Integer call() throws InterruptedException {
    try (Session session = Session.open(plugin.ctl.options)) {
      PluginSetView view = PluginSetView.fetch(session);
      List<Node> nodes = NodeCommand.chosen(session, ids, "");
      JsonArray rows = PluginSetRows.of(view, nodes, all);
      Output output = plugin.ctl.options.output;
      boolean people = output == Output.table || output == Output.wide;
      if (people && rows.isEmpty()) {
        spec.commandLine()
            .getOut()
            .println("each node runs its distribution, and the cluster wants nothing else");
      } else {
        output.print(PluginSetRows.document(rows), spec.commandLine().getOut());
      }
      return (PluginSetRows.areAsWanted(rows) ? ExitCode.OK : ExitCode.NOT_MET).code();
    }
  }
}
