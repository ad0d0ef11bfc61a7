package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.node.HealthReport.NodeHealth;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.HealthRoots;
import dev.polis.ctl.session.Output;
import dev.polis.wire.health.Condition;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Shows a health report to people: the nodes, then the organs and roles of each. */
final class HealthTables {
  private final Output output;
  private final PrintWriter out;

  HealthTables(Output output, PrintWriter out) {
    this.output = output;
    this.out = out;
  }

  void print(HealthReport report) {
    JsonArray rows = new JsonArray();
    for (NodeHealth node : report.nodes()) {
      JsonObject row = new JsonObject();
      row.addProperty("id", node.id());
      row.addProperty("health", node.heartbeats());
      row.addProperty("works", node.works());
      row.addProperty("reason", node.why());
      rows.add(row);
    }
    output.print(
        Document.rows(
            rows,
            Column.of("NODE ID", "id"),
            Column.of("HEALTH", "health"),
            Column.of("WORKS", "works"),
            Column.of("REASON", "reason")),
        out);
    report.nodes().stream().filter(NodeHealth::asked).forEach(this::print);
  }

  private void print(NodeHealth node) {
    out.println();
    JsonArray rows = new JsonArray();
    List<Status> ordered = HealthRoots.of(node.health()).ordered();
    for (Status status : ordered) {
      rows(status).forEach(rows::add);
    }
    output.print(
        Document.rows(
            rows,
            Column.of("NAME", "name"),
            Column.of("KIND", "kind"),
            Column.of("LEVEL", "level"),
            Column.of("CODE", "code"),
            Column.wide("SINCE", "since"),
            Column.of("REASON", "reason")),
        out);
    node.health()
        .getWaitsList()
        .forEach(
            wait ->
                out.printf(
                    "waiting for %s (%d s)%s%n",
                    wait.getName(),
                    wait.getLasted().getSeconds(),
                    wait.getDetail().isEmpty() ? "" : ": " + wait.getDetail()));
    remedies(ordered);
    out.flush();
  }

  /** Returns a row for each condition; the first also says whose they are. A victim has one. */
  private static List<JsonObject> rows(Status status) {
    if (HealthRoots.isVictim(status)) {
      String roots = String.join(" and ", HealthRoots.because(status));
      return List.of(row(status, status.getLevel(), status.getCode(), "because of " + roots));
    }
    if (status.getConditionsCount() == 0) {
      return List.of(row(status, status.getLevel(), status.getCode(), status.getReason()));
    }
    List<JsonObject> rows =
        status.getConditionsList().stream()
            .map(each -> row(status, each.getLevel(), each.getCode(), each.getReason()))
            .toList();
    for (JsonObject further : rows.subList(1, rows.size())) {
      further.addProperty("name", "");
      further.addProperty("kind", "");
      further.addProperty("since", "");
    }
    return rows;
  }

  private static JsonObject row(Status status, Level level, String code, String reason) {
    JsonObject row = new JsonObject();
    row.addProperty("name", status.getName());
    row.addProperty("kind", HealthReport.word(status.getKind()));
    row.addProperty("level", HealthReport.word(level));
    row.addProperty("code", code);
    row.addProperty("since", Instant.ofEpochSecond(status.getSince().getSeconds()).toString());
    row.addProperty("reason", reason);
    return row;
  }

  private void remedies(List<Status> statuses) {
    for (Status status : statuses) {
      Set<String> said = new HashSet<>();
      for (Condition condition : status.getConditionsList()) {
        if (condition.getBecauseCount() == 0
            && !condition.getRemedy().isEmpty()
            && said.add(condition.getRemedy())) {
          out.printf(
              "to do, %s %s: %s%n", status.getName(), condition.getCode(), condition.getRemedy());
        }
      }
    }
  }
}
