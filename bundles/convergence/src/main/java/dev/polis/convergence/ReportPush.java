package dev.polis.convergence;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.ReportPluginsRequest;
import java.util.Map;
import java.util.Optional;

/** Reports the running, wanted and missing plugins to the cluster, on each change. */
final class ReportPush {

  private final LeaderConnection connection;
  private final Value<LocalInventory> inventory;
  private final Value<Progress> progress;

  ReportPush(
      LeaderConnection connection, Value<LocalInventory> inventory, Value<Progress> progress) {
    this.connection = connection;
    this.inventory = inventory;
    this.progress = progress;
  }

  void run(Context context) throws InterruptedException {
    MutableValue<PluginReport> newest = new MutableValue<>();
    AnyChange.follow(
        context,
        Map.of("inventory", inventory, "progress", progress),
        () -> report().ifPresent(newest::set));
    connection.push(
        context,
        "the plugins of this node",
        newest,
        PluginReport.getDefaultInstance(),
        (leader, report) ->
            PluginSetGrpc.newBlockingV2Stub(leader)
                .withWaitForReady()
                .withDeadlineAfter(LeaderConnection.REPORT)
                .reportPlugins(ReportPluginsRequest.newBuilder().setReport(report).build()));
  }

  /** Returns the report; empty before the first message of the cluster. */
  private Optional<PluginReport> report() {
    Progress now = progress.peek().orElse(Progress.NONE);
    return inventory.peek().filter(known -> now.known()).map(known -> PluginReports.of(known, now));
  }
}
