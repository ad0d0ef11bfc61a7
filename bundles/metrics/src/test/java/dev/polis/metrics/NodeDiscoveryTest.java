package dev.polis.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRegistration;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Serves the list of nodes for Prometheus, from a curator on a real listener. */
class NodeDiscoveryTest {

  private static final String ID = "metropolis-0123456789abcdef0123456789abcdef";

  @TempDir private Path folder;
  private final AtomicReference<List<Node>> nodes = new AtomicReference<>(List.of());
  private MetricsFixture node;

  @BeforeEach
  void open() {
    node = new MetricsFixture(folder);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private final class Leader extends ManagementGrpc.ManagementImplBase {
    @Override
    public void getNodes(GetNodesRequest request, StreamObserver<Node> caller) {
      nodes.get().forEach(caller::onNext);
      caller.onCompleted();
    }
  }

  /** Answers that it leads, without an address of its own yet. */
  private final class Follower extends CuratorLocalGrpc.CuratorLocalImplBase {
    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      caller.onNext(
          GetCurrentLeaderResponse.newBuilder()
              .setLeaderNodeId(node.credentials().id().text())
              .setThisNodeId(node.credentials().id().text())
              .build());
      caller.onCompleted();
    }
  }

  private static Node node(String address, NodeRoles.Builder roles) {
    return Node.newBuilder()
        .setId(ID)
        .setStatus(NodeStatus.newBuilder().setExternalAddress(address))
        .setRoles(roles)
        .build();
  }

  private HttpResponse<String> page() throws Exception {
    return node.get(node.user(), "/discovery");
  }

  /** On a busy machine the first call may take longer than a page waits for the leader. */
  private void awaitLeader() throws Exception {
    Await.until("the leader to answer", () -> !page().body().contains("DEADLINE_EXCEEDED"));
  }

  @Test
  @DisplayName(
      "MET-02 and D-44: 503 while no node has an address, then the target with its current labels")
  void met02_discovery() throws Exception {
    node.start();
    try (RpcRegistration _ = node.host.serve(RpcHost.CURATOR, new Leader());
        RpcRegistration _ = node.host.serve(RpcHost.CURATOR, new Follower())) {
      nodes.set(List.of(node("", NodeRoles.newBuilder())));
      awaitLeader();
      HttpResponse<String> early = page();
      NodeRoles.Builder roles = NodeRoles.newBuilder();
      roles.getConsensusMemberBuilder();
      nodes.set(List.of(node("1.2.3.4", roles)));
      HttpResponse<String> found = page();
      roles.getKubernetesWorkerBuilder();
      nodes.set(List.of(node("1.2.3.4", roles)));
      HttpResponse<String> changed = page();

      assertEquals(503, early.statusCode());
      assertEquals("no node of the cluster has reported an address yet\n", early.body());
      assertEquals(200, found.statusCode());
      assertEquals("application/json", found.headers().firstValue("Content-Type").orElse(""));
      String json =
          "[{\"targets\":[\"1.2.3.4\"],\"labels\":{\"__meta_metropolis_node\":\"%s\",\"__meta_metropolis_role_consensus_member\":\"true\",\"__meta_metropolis_role_kubernetes_controller\":\"false\",\"__meta_metropolis_role_kubernetes_worker\":\"%s\"}}]";
      assertEquals(json.formatted(ID, "false"), found.body());
      assertEquals(json.formatted(ID, "true"), changed.body());
    }
  }

  @Test
  @DisplayName("a leader that refuses gives 503 with its message")
  void refused() throws Exception {
    node.start();
    try (RpcRegistration _ =
            node.host.serve(
                RpcHost.CURATOR,
                new ManagementGrpc.ManagementImplBase() {
                  @Override
                  public void getNodes(GetNodesRequest request, StreamObserver<Node> caller) {
                    caller.onError(
                        Status.FAILED_PRECONDITION.withDescription("no quorum").asException());
                  }
                });
        RpcRegistration _ = node.host.serve(RpcHost.CURATOR, new Follower())) {
      awaitLeader();

      HttpResponse<String> page = page();

      assertEquals(503, page.statusCode());
      assertTrue(page.body().contains("no quorum"), page.body());
    }
  }

  @Test
  @DisplayName("a node without a curator names the nodes to ask")
  void noCurator() throws Exception {
    node.start();
    node.host.forget();

    HttpResponse<String> page = page();

    assertEquals(503, page.statusCode());
    assertEquals(
        "this node runs no curator; ask a node with the ConsensusMember role\n", page.body());
  }
}
