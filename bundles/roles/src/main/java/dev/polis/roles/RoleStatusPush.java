package dev.polis.roles;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.pki.Fingerprint;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import io.grpc.Channel;
import io.grpc.StatusException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.stream.Stream;

/**
 * Reports this node's address, version, services and running roles to the cluster on each change,
 * and again once another process with this node's id comes or goes: the record may have its report.
 */
final class RoleStatusPush {

  private final LeaderConnection connection;
  private final Value<NetworkStatus> network;
  private final Value<CuratorStatus> curator;
  private final Value<ClusterStatus> cluster;
  private final Value<SortedSet<RoleName>> running;
  private final Value<String> copy;
  private final NodeReport report;
  private final LeaderContact contact;

  /** Holds a status, and the address of another process with this node's id; empty for none. */
  private record Reported(NodeStatus status, String copy) {}

  /**
   * Creates a runnable.
   *
   * @param cluster says whether the curator of this node can lead; others are not reported, since
   *     clients would ask them for records
   * @param copy has the address of another process with this node's id; empty while there is none
   */
  RoleStatusPush(
      LeaderConnection connection,
      Value<NetworkStatus> network,
      Value<CuratorStatus> curator,
      Value<ClusterStatus> cluster,
      Value<SortedSet<RoleName>> running,
      Value<String> copy,
      NodeReport report,
      HealthScope health) {
    this.connection = connection;
    this.network = network;
    this.curator = curator;
    this.cluster = cluster;
    this.running = running;
    this.copy = copy;
    this.report = report;
    this.contact =
        new LeaderContact(
            health,
            why ->
                HealthCondition.degraded(
                    "status-not-reported",
                    "the status of this node has not reached the leader " + why,
                    LeaderContact.REMEDY),
            System::nanoTime);
  }

  void run(Context context) throws InterruptedException {
    MutableValue<Reported> wanted = new MutableValue<>();
    AnyChange.follow(
        context,
        Map.of(
            "network", network, "curator", curator, "roles", running, "cluster", cluster, "copy",
            copy),
        () -> status().ifPresent(now -> wanted.set(new Reported(now, copy.peek().orElseThrow()))));
    connection.push(
        context,
        "the status of this node",
        wanted,
        new Reported(NodeStatus.getDefaultInstance(), ""),
        (leader, now) -> report(leader, now.status()));
  }

  private void report(Channel leader, NodeStatus status) throws StatusException {
    try {
      CuratorGrpc.newBlockingV2Stub(leader)
          .withWaitForReady()
          .withDeadlineAfter(LeaderConnection.REPORT)
          .updateNodeStatus(
              UpdateNodeStatusRequest.newBuilder()
                  .setNodeId(connection.self().text())
                  .setStatus(status)
                  .build());
      contact.answered();
    } catch (StatusException e) {
      contact.failed(e.getMessage());
      throw e;
    }
  }

  /** Returns the present report; empty before the first address. */
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
            .setVersion(report.version())
            .setBootId(report.bootId())
            .setRunningRoles(RoleRecord.running(running.peek().orElseThrow()))
            .addAllTrustedCas(trustedCas());
    curator
        .peek()
        .filter(now -> !(now instanceof CuratorStatus.Idle) && keepsRecords())
        .ifPresent(
            now ->
                status.setRunningCurator(
                    NodeStatus.RunningCurator.newBuilder().setPort(report.curatorPort())));
    return status.build();
  }

  /** Returns the CAs of this node, of which the first one issued its certificate. */
  private List<String> trustedCas() {
    return cluster.peek().flatMap(ClusterStatus::credentials).stream()
        .flatMap(
            own ->
                Stream.concat(
                    Stream.of(own.ca().issuerOf(own.certificate())),
                    own.ca().certificates().stream()))
        .distinct()
        .map(ca -> Fingerprint.of(ca).hex())
        .toList();
  }

  private boolean keepsRecords() {
    return cluster.peek().filter(ClusterStatus::hasLocalConsensus).isPresent();
  }
}
