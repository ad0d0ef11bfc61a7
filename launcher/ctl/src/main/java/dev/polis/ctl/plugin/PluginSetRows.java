package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.WantedPlugin;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Shows the wanted plugins, and what nodes run beside what they should run. */
final class PluginSetRows {
  private static final String NOBODY = "nobody";

  /** The deciders where the cluster says nothing and no operator has swapped. */
  private static final Set<String> UNDECIDED = Set.of("distribution", NOBODY);

  /** A wanted plugin for programs. */
  static final Rows<WantedPlugin> WANTED =
      new Rows<WantedPlugin>()
          .field("name", WantedPlugin::getSymbolicName)
          .field("version", WantedPlugin::getVersion)
          .field("digest", WantedPlugin::getDigest)
          .field("scope", wanted -> PluginScopeOptions.words(wanted.getScope()))
          .field("wantedBy", WantedPlugin::getWantedBy)
          .field("since", wanted -> Instant.ofEpochMilli(wanted.getWantedMillis()));

  private PluginSetRows() {}

  /**
   * Returns one row for each plugin of each node.
   *
   * @param all whether also what runs as it came with the distribution
   */
  static JsonArray of(PluginSetView view, List<Node> nodes, boolean all) {
    JsonArray rows = new JsonArray();
    for (Node node : nodes) {
      for (String name : view.names()) {
        JsonObject row = row(view, node, name);
        if (all || isWorthSaying(row)) {
          rows.add(row);
        }
      }
    }
    return rows;
  }

  private static boolean isWorthSaying(JsonObject row) {
    return !UNDECIDED.contains(text(row, "decidedBy"))
        || !text(row, "whyNot").isEmpty()
        || !text(row, "runsDigest").equals(text(row, "distributionDigest"));
  }

  private static JsonObject row(PluginSetView view, Node node, String name) {
    ReportedPlugin plugin =
        view.reported(node.getId(), name).orElseGet(ReportedPlugin::getDefaultInstance);
    Optional<WantedPlugin> decides = view.decides(node, name);
    JsonObject row = new JsonObject();
    row.addProperty("node", node.getId());
    row.addProperty("name", name);
    row.addProperty("runs", plugin.getVersion());
    row.addProperty("runsDigest", plugin.getDigest());
    row.addProperty(
        "wants", decides.map(WantedPlugin::getVersion).orElse(plugin.getWantedVersion()));
    row.addProperty(
        "wantsDigest", decides.map(WantedPlugin::getDigest).orElse(plugin.getWantedDigest()));
    row.addProperty("decidedBy", decidedBy(plugin, decides));
    row.addProperty("distribution", plugin.getDistributionVersion());
    row.addProperty("distributionDigest", plugin.getDistributionDigest());
    row.addProperty("failed", plugin.getFailed());
    row.addProperty("whyNot", whyNot(view, node, plugin, decides));
    row.addProperty("asWanted", isAsWanted(plugin, decides));
    return row;
  }

  private static boolean isAsWanted(ReportedPlugin plugin, Optional<WantedPlugin> decides) {
    return plugin.getWhyNot().isEmpty()
        && decides.map(each -> each.getDigest().equals(plugin.getDigest())).orElse(true);
  }

  /** Returns whether all rows say that the nodes run what they should. */
  static boolean areAsWanted(JsonArray rows) {
    return rows.asList().stream()
        .allMatch(row -> row.getAsJsonObject().get("asWanted").getAsBoolean());
  }

  private static String decidedBy(ReportedPlugin plugin, Optional<WantedPlugin> decides) {
    if (plugin.getDecision() == ReportedPlugin.Decision.DECISION_BY_HAND) {
      return "by hand";
    }
    return decides
        .map(each -> PluginScopeOptions.words(each.getScope()))
        .orElseGet(
            () ->
                switch (plugin.getDecision()) {
                  case DECISION_UNKNOWN, UNRECOGNIZED -> NOBODY;
                  default -> WireName.words(plugin.getDecision());
                });
  }

  private static String whyNot(
      PluginSetView view, Node node, ReportedPlugin plugin, Optional<WantedPlugin> decides) {
    if (decides.isEmpty() || decides.get().getDigest().equals(plugin.getDigest())) {
      return plugin.getWhyNot();
    }
    if (view.report(node.getId()).isEmpty()) {
      return "the node has not reported its plugins yet";
    }
    return plugin.getWantedDigest().equals(decides.get().getDigest())
            || plugin.getDecision() == ReportedPlugin.Decision.DECISION_BY_HAND
        ? plugin.getWhyNot()
        : unaware(node);
  }

  /** Explains why a node has said nothing of a wish of the cluster. */
  static String unaware(Node node) {
    return node.getHealth() == Node.Health.HEALTH_HEARTBEAT_TIMEOUT
        ? "the node is silent; it takes the plugin when it is back"
        : "the node does not know of it yet";
  }

  private static String text(JsonObject row, String key) {
    return row.get(key).getAsString();
  }

  /** Returns rows as a document. */
  static Document document(JsonArray rows) {
    return Document.rows(
        rows,
        Column.of("NODE", "node"),
        Column.of("PLUGIN", "name"),
        orDash("RUNS", "runs"),
        orDash("WANTS", "wants"),
        Column.of("DECIDED BY", "decidedBy"),
        orDash("DISTRIBUTION", "distribution"),
        Column.wide("RUNS DIGEST", "runsDigest"),
        Column.wide("WANTS DIGEST", "wantsDigest"),
        Column.of("WHY NOT", "whyNot"));
  }

  private static Column orDash(String title, String key) {
    return new Column(title, row -> text(row, key).isEmpty() ? "-" : text(row, key), false);
  }
}
