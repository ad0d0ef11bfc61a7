package dev.polis.kubernetes.worker;

import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.base.values.MutableValue;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.rpc.resolver.ListedNodes;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import dev.polis.wire.curator.Node;
import java.net.InetSocketAddress;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;

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
    connection.followNodes(
        context,
        "the watch of the controllers",
        node -> server(node, settings),
        now -> remember(new LinkedHashSet<>(now.values()), context.log()));
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

  /** Returns the API server of a node with the role. */
  static Optional<InetSocketAddress> server(Node node, KubernetesSettings settings) {
    return RoleRecord.names(node.getRoles()).contains(RoleName.KUBERNETES_CONTROLLER)
        ? ListedNodes.address(node)
            .map(address -> KubernetesAddresses.of(address, settings.links()).host())
            .map(host -> new InetSocketAddress(host, settings.apiPort()))
        : Optional.empty();
  }
}
