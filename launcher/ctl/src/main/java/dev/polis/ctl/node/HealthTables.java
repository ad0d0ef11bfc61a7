package dev.polis.ctl.node;

import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.node.HealthReport.NodeHealth;
import dev.polis.ctl.session.HealthRoots;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.health.Condition;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Shows a health report to people: the nodes of a cluster with one line each and who keeps its
 * records, or the nodes and then the organs and roles of each.
 */
final class HealthTables {

  /** A line about an organ or a role, of which the first alone says whose it is. */
  private record Line(Status status, boolean first, Level level, String code, String reason) {
    String once(String text) {
      return first ? text : "";
    }
  }

  private static final Rows<NodeHealth> NODES =
      new Rows<NodeHealth>()
          .column("NODE ID", "id", NodeHealth::id)
          .column("HEALTH", "health", NodeHealth::heartbeats)
          .column("WORKS", "works", NodeHealth::works)
          .column("REASON", "reason", NodeHealth::why);

  /** A longer cause hides the next line of the table, and stands below it. */
  private static final int CAUSE = 60;

  private static final Rows<NodeHealth> SCREEN =
      new Rows<NodeHealth>()
          .column("NODE ID", "id", NodeHealth::id)
          .column("ADDRESS", "address", node -> NodeRows.address(node.record()))
          .column("ROLES", "roles", node -> RoleRecord.names(node.record().getRoles()))
          .column("STATE", "state", node -> HealthReport.reason(node.record()))
          .column("LEVEL", "level", HealthTables::level)
          .column("CAUSE", "cause", node -> shortened(node.cause()));

  private static final Rows<Line> LINES =
      new Rows<Line>()
          .column("NAME", "name", line -> line.once(line.status().getName()))
          .column("KIND", "kind", line -> line.once(WireName.words(line.status().getKind())))
          .column("LEVEL", "level", line -> WireName.shortened(line.level()))
          .column("CODE", "code", Line::code)
          .wide("SINCE", "since", line -> line.once(since(line.status())))
          .column("REASON", "reason", Line::reason);

  private final Output output;
  private final PrintWriter out;

  HealthTables(Output output, PrintWriter out) {
    this.output = output;
    this.out = out;
  }

  /**
   * Prints a report.
   *
   * @param more begins the command that shows one node
   */
  void print(HealthReport report, String more) {
    if (report.cluster().isKnown() && output == Output.table) {
      printScreen(report, more);
    } else {
      printAll(report);
    }
  }

  private void printScreen(HealthReport report, String more) {
    output.print(SCREEN.document(report.nodes()), out);
    out.println();
    report.cluster().lines().forEach(out::println);
    report.nodes().forEach(this::printCause);
    out.printf("one node in full: %s NODE; all of them: %s -o wide%n", more, more);
    out.flush();
  }

  /** Prints what the table has no room for: the whole cause, and what to do about it. */
  private void printCause(NodeHealth node) {
    boolean isCut = !shortened(node.cause()).equals(node.cause());
    if (isCut || !node.remedy().isEmpty()) {
      out.printf("%s: %s%n", node.id(), node.cause());
    }
    if (!node.remedy().isEmpty()) {
      out.printf("  to do: %s%n", node.remedy());
    }
  }

  private static String level(NodeHealth node) {
    return node.level().map(WireName::shortened).orElse("unknown");
  }

  private static String shortened(String cause) {
    return cause.length() <= CAUSE
        ? cause
        : cause.substring(0, cause.lastIndexOf(' ', CAUSE - 1)) + " …";
  }

  private void printAll(HealthReport report) {
    output.print(NODES.document(report.nodes()), out);
    report.nodes().stream().filter(NodeHealth::asked).forEach(this::print);
  }

  private void print(NodeHealth node) {
    out.println();
    List<Status> ordered = HealthRoots.of(node.health()).ordered();
    List<Line> lines = ordered.stream().flatMap(each -> lines(each).stream()).toList();
    output.print(LINES.document(lines), out);
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

  /** Returns a line for each condition; the first also says whose they are. A victim has one. */
  private static List<Line> lines(Status status) {
    if (HealthRoots.isVictim(status)) {
      String roots = String.join(" and ", HealthRoots.because(status));
      return List.of(line(status, "because of " + roots));
    }
    List<Line> lines = new ArrayList<>();
    for (Condition each : status.getConditionsList()) {
      lines.add(
          new Line(status, lines.isEmpty(), each.getLevel(), each.getCode(), each.getReason()));
    }
    return lines.isEmpty() ? List.of(line(status, status.getReason())) : lines;
  }

  private static Line line(Status status, String reason) {
    return new Line(status, true, status.getLevel(), status.getCode(), reason);
  }

  private static String since(Status status) {
    return Instant.ofEpochSecond(status.getSince().getSeconds()).toString();
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
