package dev.polis.kubernetes.worker;

import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.base.values.MutableValue;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Watches the nodes with the role KubernetesController, and publishes the addresses of their API
 * servers. Without a leader the last addresses stay valid, also for the next run.
 */
final class ControllerWatch implements Task {

  private final LeaderConnection connection;
  private final KubernetesSettings settings;
  private final KnownControllers known;
  private final MutableValue<Set<InetSocketAddress>> controllers;

  ControllerWatch(
      LeaderConnection connection,
      KubernetesSettings settings,
      KnownControllers known,
      MutableValue<Set<InetSocketAddress>> controllers) {
    this.connection = connection;
    this.settings = settings;
    this.known = known;
    this.controllers = controllers;
  }

  @Override
  public void run(Context context) throws InterruptedException {
    WatchRequest nodes =
        WatchRequest.newBuilder()
            .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
            .build();
    connection.follow(
        context,
        "the watch of the controllers",
        leader -> CuratorGrpc.newBlockingV2Stub(leader).withWaitForReady().watch(nodes),
        () -> {
          ControllerSet found = new ControllerSet(settings);
          return event -> found.accept(event).ifPresent(now -> remember(now, context.log()));
        });
  }

  private void remember(Set<InetSocketAddress> now, Log log) {
    known.write(now, log);
    publish(now);
  }

  private void publish(Set<InetSocketAddress> now) {
    if (!controllers.peek().equals(Optional.of(now))) {
      controllers.set(now);
    }
  }

  /** Collects the events of one stream. */
  static final class ControllerSet {

    private final KubernetesSettings settings;
    private final Map<String, InetSocketAddress> byNode = new TreeMap<>();
    private boolean complete;

    ControllerSet(KubernetesSettings settings) {
      this.settings = settings;
    }

    /** Adds an event; returns the set once the initial nodes are complete. */
    Optional<Set<InetSocketAddress>> accept(WatchEvent event) {
      event.getNodesList().forEach(this::put);
      event.getNodeTombstonesList().forEach(gone -> byNode.remove(gone.getNodeId()));
      complete |= event.getProgress() == WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED;
      return complete ? Optional.of(new LinkedHashSet<>(byNode.values())) : Optional.empty();
    }

    private void put(Node node) {
      String address = node.getStatus().getExternalAddress();
      if (address.isEmpty()
          || !RoleRecord.names(node.getRoles()).contains(RoleName.KUBERNETES_CONTROLLER)) {
        byNode.remove(node.getId());
        return;
      }
      InetAddress host =
          KubernetesAddresses.of(InetAddress.ofLiteral(address), settings.links()).host();
      byNode.put(node.getId(), new InetSocketAddress(host, settings.apiPort()));
    }
  }
}
