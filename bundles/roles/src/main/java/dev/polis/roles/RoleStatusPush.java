package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.supervision.Context;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.version.Version;
import io.grpc.StatusException;
import java.net.InetAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Tells the cluster this node's address, version and services, whenever they change. */
final class RoleStatusPush {

  /** An answer that takes longer is asked for again. */
  private static final long CALL_SECONDS = 10;

  private final RoleConnection connection;
  private final Value<NetworkStatus> network;
  private final Value<CuratorStatus> curator;
  private final int curatorPort;
  private final ByteString bootId;
  private final Version version;

  RoleStatusPush(
      RoleConnection connection,
      Value<NetworkStatus> network,
      Value<CuratorStatus> curator,
      int curatorPort,
      ByteString bootId,
      Version version) {
    this.connection = connection;
    this.network = network;
    this.curator = curator;
    this.curatorPort = curatorPort;
    this.bootId = bootId;
    this.version = version;
  }

  void run(Context context) throws InterruptedException {
    MutableValue<NodeStatus> wanted = new MutableValue<>();
    context.run("network", child -> follow(child, network, wanted));
    context.run("curator", child -> follow(child, curator, wanted));
    context.healthy();
    RolePause pause = new RolePause();
    try (Watcher<NodeStatus> changes = wanted.watch()) {
      NodeStatus pushed = NodeStatus.getDefaultInstance();
      while (true) {
        NodeStatus before = pushed;
        NodeStatus now = changes.get(status -> !status.equals(before));
        while (!push(now, context, pause)) {
          now = changes.poll().orElse(now);
        }
        pushed = now;
      }
    }
  }

  /** Two values make one status; whichever changes, it is put together anew. */
  private void follow(Context context, Value<?> value, MutableValue<NodeStatus> wanted)
      throws InterruptedException {
    context.healthy();
    try (Watcher<?> changes = value.watch()) {
      while (true) {
        changes.get();
        synchronized (wanted) {
          status().ifPresent(wanted::set);
        }
      }
    }
  }

  private boolean push(NodeStatus status, Context context, RolePause pause)
      throws InterruptedException {
    try {
      connection
          .curator()
          .withWaitForReady()
          .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
          .updateNodeStatus(
              UpdateNodeStatusRequest.newBuilder()
                  .setNodeId(connection.self().text())
                  .setStatus(status)
                  .build());
      pause.reset();
      return true;
    } catch (StatusException e) {
      context.log().warning("the status of this node could not be reported: %s", e.getMessage());
      pause.pause();
      return false;
    }
  }

  /** Returns what there is to report; nothing before the first address. */
  Optional<NodeStatus> status() {
    return network
        .peek()
        .flatMap(
            now ->
                now instanceof NetworkStatus.Up(InetAddress address)
                    ? Optional.of(address)
                    : Optional.empty())
        .map(this::status);
  }

  private NodeStatus status(InetAddress address) {
    NodeStatus.Builder status =
        NodeStatus.newBuilder()
            .setExternalAddress(address.getHostAddress())
            .setVersion(version)
            .setBootId(bootId);
    curator
        .peek()
        .filter(now -> !(now instanceof CuratorStatus.Idle))
        .ifPresent(
            now ->
                status.setRunningCurator(
                    NodeStatus.RunningCurator.newBuilder().setPort(curatorPort)));
    return status.build();
  }
}
