package dev.polis.convergence;

import dev.polis.backoff.Backoff;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.ReportPluginsRequest;
import io.grpc.StatusException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Reports to the cluster what this node runs, wants and lacks, on each change. */
final class ReportPush {

  /** A call without an answer for this long is made again. */
  private static final long CALL_SECONDS = 10;

  private final ClusterConnection connection;
  private final Value<LocalInventory> inventory;
  private final Value<Progress> progress;

  ReportPush(
      ClusterConnection connection, Value<LocalInventory> inventory, Value<Progress> progress) {
    this.connection = connection;
    this.inventory = inventory;
    this.progress = progress;
  }

  void run(Context context) throws InterruptedException {
    MutableValue<PluginReport> newest = new MutableValue<>();
    context.run("inventory", child -> follow(child, inventory, newest));
    context.run("progress", child -> follow(child, progress, newest));
    context.healthy();
    Backoff backoff = connection.backoff();
    try (Watcher<PluginReport> changes = newest.watch()) {
      PluginReport pushed = PluginReport.getDefaultInstance();
      while (true) {
        PluginReport before = pushed;
        PluginReport now = changes.get(report -> !report.equals(before));
        while (!push(now, context, backoff)) {
          now = changes.poll().orElse(now);
        }
        pushed = now;
      }
    }
  }

  private void follow(Context context, Value<?> source, MutableValue<PluginReport> newest)
      throws InterruptedException {
    context.healthy();
    try (Watcher<?> changes = source.watch()) {
      while (true) {
        changes.get();
        // One at a time, so that the newest report is made of the newest states.
        synchronized (newest) {
          report().ifPresent(newest::set);
        }
      }
    }
  }

  /** Returns what there is to report; nothing before the cluster has said what it wants. */
  private Optional<PluginReport> report() {
    Progress now = progress.peek().orElse(Progress.NONE);
    return inventory.peek().filter(known -> now.known()).map(known -> PluginReports.of(known, now));
  }

  private boolean push(PluginReport report, Context context, Backoff backoff)
      throws InterruptedException {
    try {
      connection
          .pluginSet()
          .withWaitForReady()
          .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
          .reportPlugins(ReportPluginsRequest.newBuilder().setReport(report).build());
      backoff.reset();
      return true;
    } catch (StatusException e) {
      context.log().info("the plugins of this node could not be reported: %s", e.getMessage());
      backoff.pause();
      return false;
    }
  }
}
