package dev.polis.benchmarks;

import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Context;
import java.io.IOException;
import java.net.URI;
import java.util.Base64;
import java.util.List;

/**
 * Runs a {@link BareServer} with the options of a node's JVM, beside a node: with its credentials,
 * its etcd, and messages as its curator sends them.
 */
final class BareUnderTest implements AutoCloseable {

  /** The name of its figures. */
  static final String NAME = "bare gRPC";

  private static final String READY = "READY ";

  private final Timed process;
  private final ClusterAccess access;

  private BareUnderTest(Timed process, ClusterAccess access) {
    this.process = process;
    this.access = access;
  }

  static BareUnderTest start(Settings settings, NodeUnderTest node, ClusterAccess curator)
      throws IOException, InterruptedException {
    byte[] record =
        ManagementGrpc.newBlockingStub(curator.asOwner())
            .getNodes(GetNodesRequest.getDefaultInstance())
            .next()
            .toByteArray();
    URI etcd = curator.etcdUrl();
    Timed process =
        Timed.start(
            settings.java(
                List.of(
                    "-cp",
                    System.getProperty("java.class.path"),
                    BareServer.class.getName(),
                    node.state().toString(),
                    etcd.getHost() + ":" + etcd.getPort(),
                    text(record),
                    text(firstEvent(curator).toByteArray()))),
            READY);
    try {
      process.await();
      int port =
          process.lines().stream()
              .filter(line -> line.startsWith(READY))
              .mapToInt(line -> Integer.parseInt(line.substring(READY.length())))
              .findFirst()
              .orElseThrow();
      return new BareUnderTest(process, new ClusterAccess(node, port));
    } catch (IOException | InterruptedException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  private static String text(byte[] message) {
    return Base64.getEncoder().encodeToString(message);
  }

  private static WatchEvent firstEvent(ClusterAccess curator) throws IOException {
    CuratorGrpc.CuratorBlockingStub stub = CuratorGrpc.newBlockingStub(curator.asNode());
    WatchRequest.NodeInCluster self =
        WatchRequest.NodeInCluster.newBuilder()
            .setNodeId(curator.nodeCredentials().id().text())
            .build();
    try (Context.CancellableContext call = Context.current().withCancellation()) {
      Context before = call.attach();
      try {
        return stub.watch(WatchRequest.newBuilder().setNodeInCluster(self).build()).next();
      } finally {
        call.detach(before);
      }
    }
  }

  /** Connects to it as clients connect to the curator. */
  ClusterAccess access() {
    return access;
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    access.close();
    process.close();
  }
}
