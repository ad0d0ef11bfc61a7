package dev.polis.roles;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleRecord;
import dev.polis.base.values.MutableValue;
import dev.polis.logtree.Log;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import java.util.Optional;

/** Watches this node's record in the cluster, and publishes and remembers its roles. */
final class RoleRecordWatcher {

  private final LeaderConnection connection;
  private final RememberedRoles remembered;
  private final MutableValue<LocalRoles> roles;
  private final Charge charge;

  /** Creates a watcher that publishes and remembers only while this instance acts. */
  RoleRecordWatcher(
      LeaderConnection connection,
      RememberedRoles remembered,
      MutableValue<LocalRoles> roles,
      Charge charge) {
    this.charge = charge;
    this.connection = connection;
    this.remembered = remembered;
    this.roles = roles;
  }

  void run(Context context) throws InterruptedException {
    WatchRequest self =
        WatchRequest.newBuilder()
            .setNodeInCluster(
                WatchRequest.NodeInCluster.newBuilder().setNodeId(connection.self().text()))
            .build();
    connection.follow(
        context,
        "the watch of this node's record",
        leader -> CuratorGrpc.newBlockingV2Stub(leader).withWaitForReady().watch(self),
        () -> event -> accept(event, context.log()));
  }

  private void accept(WatchEvent event, Log log) {
    for (Node node : event.getNodesList()) {
      if (node.getId().equals(connection.self().text())) {
        charge.whileHeld(() -> publish(node.getRoles(), log));
      }
    }
    if (event.getNodeTombstonesCount() > 0) {
      log.error("the cluster has removed this node; its roles end");
      charge.whileHeld(() -> publish(NodeRoles.getDefaultInstance(), log));
    }
  }

  private void publish(NodeRoles record, Log log) {
    LocalRoles next = new LocalRoles(RoleRecord.names(record), true);
    Optional<LocalRoles> before = roles.peek();
    if (before.isPresent() && before.get().equals(next)) {
      return;
    }
    log.info("the cluster wants these roles of this node: %s", next.describe());
    RoleRecord.malformed(record)
        .forEach(
            name ->
                log.warning("the node ignores role \"%s\": it is not the name of a role", name));
    remembered.write(next, log);
    roles.set(next);
  }
}
