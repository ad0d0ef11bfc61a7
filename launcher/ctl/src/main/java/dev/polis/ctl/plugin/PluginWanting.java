package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.wire.cluster.WantPluginRequest;
import dev.polis.wire.cluster.WantPluginResponse;
import dev.polis.wire.cluster.WantedPlugin;
import java.time.Duration;
import java.util.function.Consumer;
import picocli.CommandLine.Option;

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
}
