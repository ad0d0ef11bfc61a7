package dev.polis.metrics;

import com.google.gson.Gson;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcListenerStatus;
import dev.polis.rpc.RpcTrust;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeRoles;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Lists the nodes of the cluster in the format of Prometheus' HTTP service discovery. It reads the
 * list from the cluster's leader at each request, with this node's certificate, over a connection
 * that the first request opens.
 */
final class NodeDiscovery implements AutoCloseable {

  /**
   * The time for the list, half of Prometheus' default, so that Prometheus gets the reason of a
   * failure.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final String LABEL = "__meta_metropolis_";
  private static final Gson GSON = new Gson();

  /**
   * Is one entry of the list, with the format's names.
   *
   * @param targets the addresses; Prometheus' configuration adds the port
   * @param labels their known properties
   */
  private record Target(List<String> targets, Map<String, String> labels) {}

  /** Is the connection to the leader, which one curator names. */
  private record Connection(String curator, LeaderResolver resolver, ManagedChannel channel) {
    void close() {
      channel.shutdownNow();
      resolver.close();
    }
  }

  private final Supplier<List<RpcListenerStatus>> listeners;
  private final Supplier<Optional<NodeCredentials>> credentials;
  private final Log log;
  private Connection connection; // null until the first request; guarded by this
  private boolean closed; // guarded by this

  /**
   * @param listeners the listeners of this node, which include its curator
   * @param credentials the credentials of this node
   */
  NodeDiscovery(
      Supplier<List<RpcListenerStatus>> listeners,
      Supplier<Optional<NodeCredentials>> credentials,
      Log log) {
    this.listeners = listeners;
    this.credentials = credentials;
    this.log = log;
  }

  /** Returns the list; without one, or for an empty one, status 503 with the reason. */
  HttpAnswer answer() {
    Optional<NodeCredentials> self = credentials.get();
    Optional<RpcListenerStatus> curator = curator();
    if (self.isEmpty() || curator.isEmpty()) {
      return unavailable("this node runs no curator; ask a node with the ConsensusMember role");
    }
    try {
      List<Target> targets = targets(connect(self.get(), curator.get().address()));
      return targets.isEmpty()
          ? unavailable("no node of the cluster has reported an address yet")
          : new HttpAnswer(
              HttpURLConnection.HTTP_OK,
              "application/json",
              GSON.toJson(targets).getBytes(StandardCharsets.UTF_8));
    } catch (StatusRuntimeException refused) {
      return unavailable(
          "the leader of the cluster does not list its nodes: %s".formatted(refused.getMessage()));
    }
  }

  private static HttpAnswer unavailable(String reason) {
    return HttpAnswer.text(HttpURLConnection.HTTP_UNAVAILABLE, reason);
  }

  private Optional<RpcListenerStatus> curator() {
    return listeners.get().stream()
        .filter(listener -> listener.name().equals(RpcHost.CURATOR) && listener.open())
        .findFirst();
  }

  private synchronized ManagedChannel connect(NodeCredentials self, String curator) {
    if (closed) {
      throw new IllegalStateException("the metrics organ is stopped");
    }
    if (connection == null || !connection.curator().equals(curator)) {
      disconnect();
      RpcClients clients =
          RpcClients.authenticated(
              () -> credentials.get().orElse(self).tls(),
              RpcTrust.cluster(() -> credentials.get().orElse(self).ca()));
      LeaderResolver resolver =
          LeaderResolver.fixed(
              List.of(new NodeEndpoint(self.id(), LeaderResolver.address(curator))), clients, log);
      connection = new Connection(curator, resolver, resolver.channel());
    }
    return connection.channel();
  }

  private static List<Target> targets(ManagedChannel leader) {
    List<Target> targets = new ArrayList<>();
    ManagementGrpc.newBlockingStub(leader)
        .withDeadlineAfter(PATIENCE)
        .getNodes(GetNodesRequest.getDefaultInstance())
        .forEachRemaining(node -> target(node).ifPresent(targets::add));
    return targets;
  }

  private void disconnect() {
    if (connection != null) {
      connection.close();
      connection = null;
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    disconnect();
  }

  private static Optional<Target> target(Node node) {
    String address = node.getStatus().getExternalAddress();
    if (address.isEmpty()) {
      return Optional.empty();
    }
    NodeRoles roles = node.getRoles();
    Map<String, String> labels = new TreeMap<>();
    labels.put(LABEL + "node", node.getId());
    labels.put(LABEL + "role_consensus_member", Boolean.toString(roles.hasConsensusMember()));
    labels.put(
        LABEL + "role_kubernetes_controller", Boolean.toString(roles.hasKubernetesController()));
    labels.put(LABEL + "role_kubernetes_worker", Boolean.toString(roles.hasKubernetesWorker()));
    return Optional.of(new Target(List.of(address), labels));
  }
}
