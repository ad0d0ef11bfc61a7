package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.HealthGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Requires that a node that its cluster has removed is refused by the other nodes, says so, and
 * does not come back.
 */
final class RemovedNode {

  private static final int MANAGEMENT_PORT = 7839;

  private final TestNode node;
  private final NodeCredentials former;

  /** Keeps the keys of a member, before it is removed. */
  RemovedNode(TestNode member) throws IOException {
    this(member, OwnerApi.nodeCredentials(member));
  }

  /** Names the keys that the other nodes are to refuse. */
  RemovedNode(TestNode member, NodeCredentials former) {
    this.node = member;
    this.former = former;
  }

  TestNode node() {
    return node;
  }

  String id() {
    return former.id().text();
  }

  /** Waits until the running node says that it is removed, and has no keys of a member. */
  void saysSo() throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "the removed node to say so on its screen",
        () -> node.said().contains("this node is DISOWNING: the cluster has removed " + id()),
        () -> "it said:\n" + node.said());
    node.awaitHealthSays("the cluster has removed " + id(), "empty state directory");
    Finished explained = node.ctlThere("explain", "disowned");
    assertTrue(explained.all().contains("the cluster has removed " + id()), explained.all());
    Finished parts = node.ctlThere("explain", "roles");
    assertFalse(parts.all().contains("DOWN"), parts.all());
    Path credentials = node.state().resolve("data/node/credentials");
    assertFalse(Files.exists(credentials.resolve("cert-key.pem")), "its key is on the disk");
    assertFalse(Files.exists(credentials.resolve("cert.pem")), "its certificate is on the disk");
  }

  /** Requires that a member refuses the former certificate at each of its ports. */
  void isRefusedAtEachPort(TestNode by) throws Exception {
    RpcClients clients = RpcClients.authenticated(former.tls(), RpcTrust.cluster(former.ca()));
    ManagedChannel curator = clients.dial(ThreeVoters.curator(by));
    ManagedChannel management = clients.dial(new InetSocketAddress(by.address(), MANAGEMENT_PORT));
    try {
      refused(
          () ->
              ManagementGrpc.newBlockingV2Stub(curator)
                  .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                  .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
      refused(
          () ->
              HealthGrpc.newBlockingV2Stub(management)
                  .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                  .getHealth(GetHealthRequest.getDefaultInstance()));
    } finally {
      curator.shutdownNow();
      management.shutdownNow();
    }
    assertThrows(
        IOException.class, () -> MetricsPage.get(former.tls(), former.ca(), by, "/metrics"));
  }

  private static void refused(Callable<?> call) {
    Status status = assertThrows(StatusException.class, call::call).getStatus();
    assertEquals(Status.Code.UNAUTHENTICATED, status.getCode(), status.toString());
  }

  /** Requires that a start ends with this reason and the remedy, and leaves nothing behind. */
  void doesNotComeBack(String reason, String... options) throws Exception {
    Finished refused = node.refused(options);
    assertNotEquals(0, refused.code(), refused.all());
    assertTrue(refused.lastLine().contains(reason), refused::all);
    assertTrue(refused.lastLine().contains("empty state directory"), refused::all);
    if (options.length > 0) {
      // A volume that such a start has opened stays open until polis down.
      node.stop();
    }
    assertEquals(List.of(), node.leftovers());
  }
}
