package dev.polis.ctl.plugin;

import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.WantPluginRequest;
import java.util.List;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Makes a node, or the nodes with a role, run a version that the cluster has already. */
@Command(
    name = "pin",
    description = {
      "Makes a node, or the nodes with a role, run a version of a plugin that the cluster"
          + " already has, independent of other scopes; also an older one.",
      "Without a version it pins the running one. Exit code 5 if a node does not run it in the end."
    })
final class PluginPinCommand extends PluginWanting {

  @Parameters(
      paramLabel = "NAME[@VERSION|@DIGEST]",
      description =
          "the plugin's symbolic name, and which one of it, as \"plugin diff\" shows them")
  String name;

  @ArgGroup(multiplicity = "1")
  PluginScopeOptions scope;

  @Override
  protected ExitCode run() throws InterruptedException {
    try (Session session = Session.open(options())) {
      PluginSetView view = PluginSetView.fetch(session);
      PluginChoice choice = new PluginChoice(view, name);
      PluginFile chosen = choice.find(nodes(view, scope.scope()));
      WantPluginRequest request =
          WantPluginRequest.newBuilder()
              .setScope(scope.scope())
              .setManifest(choice.manifest(session, chosen))
              .setOlder(true)
              .build();
      return want(session, request);
    }
  }

  private static List<Node> nodes(PluginSetView view, PluginScope scope) {
    return view.nodes().stream()
        .filter(
            node ->
                switch (scope.getKindCase()) {
                  case EVERYWHERE, KIND_NOT_SET -> true;
                  case NODE_ID -> node.getId().equals(scope.getNodeId());
                  case ROLE ->
                      RoleRecord.names(node.getRoles()).stream()
                          .anyMatch(role -> role.text().equals(scope.getRole()));
                })
        .toList();
  }
}
