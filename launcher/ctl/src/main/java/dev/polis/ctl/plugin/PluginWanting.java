package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.WantPluginRequest;
import dev.polis.wire.cluster.WantPluginResponse;
import dev.polis.wire.cluster.WantedPlugin;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes the cluster want a plugin, and follows the nodes; what push and pin have in common. */
abstract class PluginWanting extends CtlCommand {

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      description = "how long the nodes are followed; 0 for not at all. Default: ${DEFAULT-VALUE}",
      defaultValue = "120")
  int wait;

  @Option(
      names = "--again",
      description = "repeats the wish, so that nodes on which it failed try it again")
  boolean again;

  final ExitCode want(Session session, WantPluginRequest request) throws InterruptedException {
    CtlOptions.requireAtLeast(0, wait, "--wait");
    WantPluginRequest asked = request.toBuilder().setAgain(again).build();
    WantPluginResponse answer = session.call(() -> session.pluginSet().wantPlugin(asked));
    WantedPlugin wanted = answer.getWanted();
    boolean people = options().output.isForPeople();
    Consumer<String> screen = people ? out()::println : line -> {};
    screen.accept(words(answer));
    PluginFollow follow = new PluginFollow(wanted, screen);
    ExitCode end = wait == 0 ? ExitCode.OK : follow.follow(session, Duration.ofSeconds(wait));
    if (!people) {
      JsonObject document = PluginSetRows.WANTED.json(wanted);
      document.addProperty("before", answer.getBefore().getVersion());
      document.add("nodes", follow.rows());
      print(Document.single(document));
    }
    return end;
  }

  private static String words(WantPluginResponse answer) {
    WantedPlugin wanted = answer.getWanted();
    String what =
        "%s %s, wanted on %s"
            .formatted(
                wanted.getSymbolicName(),
                wanted.getVersion(),
                PluginScopeOptions.nodes(wanted.getScope()));
    if (!answer.hasBefore()) {
      return what;
    }
    return answer.getBefore().equals(wanted)
        ? what + " already"
        : what + " in place of " + answer.getBefore().getVersion();
  }

  /** Sends a plugin to the cluster, whose nodes then run it. */
  @Command(
      name = "push",
      description = {
        "Sends a plugin to the cluster and makes its nodes run it: each fetches it, verifies it"
            + " and swaps it in, and reverts it if it makes the node unhealthy.",
        "Without an option it applies to each node. A version wanted on a node overrides that for"
            + " its role, and that overrides the version wanted everywhere. Exit code 5 if a node does not run it in the end."
      })
  static final class Push extends PluginWanting {

    @Parameters(
        paramLabel = "FILE",
        description = "the bundle; its signed manifest is beside it as FILE.plugin")
    Path file;

    @ArgGroup PluginScopeOptions scope = new PluginScopeOptions();

    @Option(
        names = "--older",
        description = "even if it is older than the wanted or the running version")
    boolean older;

    @Override
    protected ExitCode run() throws InterruptedException {
      PluginUpload upload = PluginUpload.of(file);
      upload.requireWhole();
      try (Session session = Session.open(options())) {
        scope.requireNode(session);
        upload.send(session);
        WantPluginRequest request =
            WantPluginRequest.newBuilder()
                .setScope(scope.scope())
                .setManifest(upload.header().getManifest())
                .setOlder(older)
                .build();
        return want(session, request);
      }
    }
  }

  /** Makes a node, or the nodes with a role, run a version that the cluster has already. */
  @Command(
      name = "pin",
      description = {
        "Makes a node, or the nodes with a role, run a version of a plugin that the cluster"
            + " already has, independent of other scopes; also an older one.",
        "Without a version it pins the running one. Exit code 5 if a node does not run it in the end."
      })
  static final class Pin extends PluginWanting {

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
        scope.requireNode(session);
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
                    case ROLE -> NodeRows.has(node, scope.getRole());
                  })
          .toList();
    }
  }
}
