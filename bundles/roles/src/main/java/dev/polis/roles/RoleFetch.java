package dev.polis.roles;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.Role;
import dev.polis.event.MutableValue;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/** Follows this node's own record and publishes its roles. */
final class RoleFetch {

  private final RoleConnection connection;
  private final FilePlacement remembered;
  private final MutableValue<LocalRoles> roles;

  RoleFetch(RoleConnection connection, FilePlacement remembered, MutableValue<LocalRoles> roles) {
    this.connection = connection;
    this.remembered = remembered;
    this.roles = roles;
  }

  void run(Context context) throws InterruptedException {
    recall(context.log());
    context.healthy();
    RolePause pause = new RolePause();
    while (true) {
      try {
        follow(context.log(), pause);
      } catch (StatusException e) {
        context.log().warning("the watch of this node's record ended: %s", e.getMessage());
      }
      pause.pause();
    }
  }

  /** Publishes the roles of before, so that they start even while the cluster cannot be reached. */
  private void recall(Log log) {
    switch (remembered.read().map(RoleFetch::parse)) {
      case Stored.Present<NodeRoles>(var path, var stored) ->
          roles.set(new LocalRoles(of(stored), false));
      case Stored.None<NodeRoles> none -> log.info("no roles are remembered from before");
      case Stored.Corrupted<NodeRoles>(var path, var reason) ->
          log.warning("the remembered roles %s are left out: %s", path, reason);
      case Stored.Unreadable<NodeRoles>(var path, var reason, var cause) ->
          log.warning("the remembered roles %s are left out: %s", path, reason);
    }
  }

  private static NodeRoles parse(byte[] bytes) {
    try {
      return NodeRoles.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private void follow(Log log, RolePause pause) throws InterruptedException, StatusException {
    BlockingClientCall<?, WatchEvent> call =
        connection
            .curator()
            .withWaitForReady()
            .watch(
                WatchRequest.newBuilder()
                    .setNodeInCluster(
                        WatchRequest.NodeInCluster.newBuilder().setNodeId(connection.self().text()))
                    .build());
    try {
      for (WatchEvent event = call.read(); event != null; event = call.read()) {
        pause.reset();
        see(event, log);
      }
    } finally {
      call.cancel("this watch is over", null);
    }
  }

  private void see(WatchEvent event, Log log) {
    for (Node node : event.getNodesList()) {
      if (node.getId().equals(connection.self().text())) {
        publish(node.getRoles(), log);
      }
    }
    if (event.getNodeTombstonesCount() > 0) {
      log.error("the cluster has removed this node; its roles end");
      publish(NodeRoles.getDefaultInstance(), log);
    }
  }

  private void publish(NodeRoles wire, Log log) {
    LocalRoles next = new LocalRoles(of(wire), true);
    Optional<LocalRoles> before = roles.peek();
    if (before.isPresent() && before.get().equals(next)) {
      return;
    }
    log.info("roles of this node: %s", next.describe());
    try {
      remembered.write(wire.toByteArray());
    } catch (FileException e) {
      log.warning("the roles cannot be remembered for the next start: %s", e.getMessage());
    }
    roles.set(next);
  }

  private static Set<Role> of(NodeRoles wire) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    if (wire.hasConsensusMember()) {
      roles.add(Role.CONSENSUS_MEMBER);
    }
    if (wire.hasKubernetesController()) {
      roles.add(Role.KUBERNETES_CONTROLLER);
    }
    if (wire.hasKubernetesWorker()) {
      roles.add(Role.KUBERNETES_WORKER);
    }
    return roles;
  }
}
