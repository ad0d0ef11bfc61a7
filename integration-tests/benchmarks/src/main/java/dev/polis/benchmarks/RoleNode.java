package dev.polis.benchmarks;

import com.google.protobuf.ByteString;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.GetDebugKubeconfigRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** Runs a node with both roles of Kubernetes. */
final class RoleNode implements AutoCloseable {

  /** An image that each worker has from its start. */
  static final String IMAGE = "polis.local/pause:1";

  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration END_OF_ROLE = Duration.ofSeconds(2);
  private static final int PROXY_PORT = 6444;
  private static final int DEBUG_PORT = 7837;

  private final NodeUnderTest node;
  private final String option;

  private RoleNode(NodeUnderTest node, String option) {
    this.node = node;
    this.option = option;
  }

  /**
   * Starts a new node, and takes ownership of its cluster.
   *
   * @param option of its JVM
   */
  static RoleNode started(Settings settings, String option)
      throws IOException, InterruptedException {
    String programs = settings.kubernetes();
    RoleNode started =
        new RoleNode(
            NodeUnderTest.fresh(
                settings,
                List.of(
                    "--set",
                    "dev.polis.kubernetes.programs=" + programs,
                    "--set",
                    "dev.polis.containers.programs=" + programs,
                    "--set",
                    "dev.polis.debug.kubeconfig=true")),
            option);
    try {
      started.up();
      started.node.ctl("--state", started.node.state().toString(), "takeownership");
      return started;
    } catch (IOException | InterruptedException | RuntimeException e) {
      started.close();
      throw e;
    }
  }

  NodeUnderTest node() {
    return node;
  }

  /** Starts the node's process again. */
  void up() throws IOException, InterruptedException {
    node.up(option);
  }

  /**
   * Removes the role of the controller, which the first node of a cluster has, and adds both roles;
   * returns the nanoseconds from that call to a Ready Node object.
   */
  long rolesToReady() throws IOException, InterruptedException, TimeoutException {
    try (ClusterAccess access = new ClusterAccess(node)) {
      ManagementGrpc.ManagementBlockingStub management =
          ManagementGrpc.newBlockingStub(access.asOwner());
      UpdateNodeRolesRequest.Builder roles =
          UpdateNodeRolesRequest.newBuilder().setPubkey(ByteString.copyFrom(access.nodeKey()));
      management.updateNodeRoles(roles.setKubernetesController(false).build());
      awaitNoApiServer();
      UpdateNodeRolesRequest both =
          roles.setKubernetesController(true).setKubernetesWorker(true).build();
      long began = System.nanoTime();
      management.updateNodeRoles(both);
      try (ObjectWatch nodes = ObjectWatch.nodes(proxy())) {
        return nodes.await(ObjectWatch::ready) - began;
      }
    }
  }

  private void awaitNoApiServer() throws IOException, InterruptedException {
    while (Components.of(node.state()).has("kube-apiserver")) {
      IdleBenchmark.pass(POLL);
    }
    // The rest of the role's end takes no longer than this.
    IdleBenchmark.pass(END_OF_ROLE);
  }

  private UserCredentials owner() throws IOException {
    return ClusterAccess.ownerCredentials(node.owner());
  }

  /** Returns the owner's access through the authenticating proxy. */
  ApiAccess proxy() throws IOException {
    return ApiAccess.proxy(NodeUnderTest.ADDRESS, PROXY_PORT, owner());
  }

  /** Returns the same user's access to the API server itself. */
  ApiAccess direct() throws IOException {
    ManagedChannel channel =
        RpcClients.plaintext(new InetSocketAddress(NodeUnderTest.ADDRESS, DEBUG_PORT));
    try {
      return ApiAccess.kubeconfig(
          NodeDebugServiceGrpc.newBlockingStub(channel)
              .getDebugKubeconfig(
                  GetDebugKubeconfigRequest.newBuilder().setId(owner().user()).build())
              .getDebugKubeconfig());
    } finally {
      channel.shutdownNow();
    }
  }

  /** Ends the node's process; all processes that it started keep running. */
  void endProcess() throws InterruptedException {
    node.terminate();
  }

  /** Ends everything in order, as a power-off does. */
  void powerOff() throws IOException, InterruptedException {
    node.down();
  }

  Components components() throws IOException {
    Components components = Components.of(node.state());
    components.add(KubernetesBenchmark.JVM, node.pid());
    return components;
  }

  @Override
  public void close() throws IOException {
    node.close();
  }
}
