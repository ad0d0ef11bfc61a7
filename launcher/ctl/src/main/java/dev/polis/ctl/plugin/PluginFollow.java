package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.WantedPlugin;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Shows how the nodes come to run a plugin that the cluster wants. */
final class PluginFollow {
  private static final double MILLIS_OF_SECOND = 1000;

  /**
   * The pause between two questions to the curator: what nodes say is part of no watch. A swap
   * takes seconds, and a question costs the cluster one read.
   */
  private static final Duration AGAIN = Duration.ofMillis(500);

  /**
   * Holds what a node says of the plugin.
   *
   * @param text for the operator
   * @param runs whether it runs what is wanted
   * @param failed whether it has failed and is not tried again for now
   */
  private record Progress(String text, boolean runs, boolean failed) {}

  private final WantedPlugin wanted;
  private final Consumer<String> screen;
  private final Map<String, Progress> nodes = new HashMap<>();
  private final long began = System.nanoTime();

  /**
   * Creates a view.
   *
   * @param wanted what the cluster wants
   * @param screen gets a line for each change
   */
  PluginFollow(WantedPlugin wanted, Consumer<String> screen) {
    this.wanted = wanted;
    this.screen = screen;
  }

  /**
   * Follows the nodes until each of them runs the plugin or has failed, or the time is over.
   *
   * @return OK if all nodes run it, else NOT_MET
   */
  ExitCode follow(Session session, Duration within) throws InterruptedException {
    while (true) {
      PluginSetView view = PluginSetView.fetch(session);
      List<Node> concerned = view.decidedBy(wanted);
      nodes.keySet().retainAll(concerned.stream().map(Node::getId).toList());
      concerned.forEach(node -> update(node.getId(), progress(view, node)));
      if (nodes.values().stream().allMatch(each -> each.runs() || each.failed())) {
        return end(nodes.values().stream().allMatch(Progress::runs));
      }
      if (since().compareTo(within) >= 0) {
        say("%d of %d nodes run it; see \"plugin diff\"".formatted(running(), nodes.size()));
        return ExitCode.NOT_MET;
      }
      Thread.sleep(AGAIN);
    }
  }

  private ExitCode end(boolean all) {
    if (nodes.isEmpty()) {
      say(withoutNodes(wanted.getScope()));
    } else {
      say("%d of %d nodes run it".formatted(running(), nodes.size()));
    }
    return all ? ExitCode.OK : ExitCode.NOT_MET;
  }

  /** Explains why no node runs a wanted plugin, and names the next command. */
  static String withoutNodes(PluginScope scope) {
    return scope.hasRole()
        ? "no node runs it: none has the role, or a pin decides on each that has it; \"node role add NODE %s\" gives the role, \"plugin diff\" shows the pins"
            .formatted(scope.getRole())
        : "no node runs it: a narrower scope decides on each; \"plugin diff\" shows which";
  }

  private long running() {
    return nodes.values().stream().filter(Progress::runs).count();
  }

  private Progress progress(PluginSetView view, Node node) {
    if (view.report(node.getId()).isEmpty()) {
      return new Progress("it has not reported its plugins yet", false, false);
    }
    Optional<ReportedPlugin> plugin = view.reported(node.getId(), wanted.getSymbolicName());
    boolean knows =
        plugin.filter(each -> each.getWantedDigest().equals(wanted.getDigest())).isPresent();
    if (!knows) {
      return new Progress(PluginSetRows.unaware(node), false, false);
    }
    if (plugin.get().getDigest().equals(wanted.getDigest())) {
      return new Progress("runs " + plugin.get().getVersion(), true, false);
    }
    return new Progress(
        plugin.get().getWhyNot().isEmpty() ? "not yet" : plugin.get().getWhyNot(),
        false,
        plugin.get().getFailed());
  }

  private void update(String node, Progress now) {
    if (!now.equals(nodes.put(node, now))) {
      say("%s: %s".formatted(node, now.text()));
    }
  }

  private void say(String text) {
    screen.accept(
        String.format(Locale.ROOT, "%6.1f s  %s", since().toMillis() / MILLIS_OF_SECOND, text));
  }

  private Duration since() {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** Returns what was seen last of each node. */
  JsonArray rows() {
    return new Rows<String>()
        .field("node", node -> node)
        .field("runs", node -> nodes.get(node).runs())
        .field("failed", node -> nodes.get(node).failed())
        .field("text", node -> nodes.get(node).text())
        .json(nodes.keySet().stream().sorted().toList());
  }
}
