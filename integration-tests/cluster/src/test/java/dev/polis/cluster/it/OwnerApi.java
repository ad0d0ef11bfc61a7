package dev.polis.cluster.it;

import dev.polis.pki.UserCredentials;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Calls of a cluster's owner, over one channel that is kept open. */
final class OwnerApi implements AutoCloseable {

  private static final int CURATOR_PORT = 7835;

  private final ManagedChannel channel;

  private OwnerApi(ManagedChannel channel) {
    this.channel = channel;
  }

  /** As the owner of a node whose ownership was taken. */
  static OwnerApi of(TestNode node) throws IOException {
    Path owner = node.state().resolve("owner");
    UserCredentials credentials =
        UserCredentials.fromPem(
            Files.readString(owner.resolve("owner-key.pem")),
            Files.readString(owner.resolve("owner.pem")),
            Files.readString(owner.resolve("ca.pem")));
    RpcClients clients =
        RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(credentials.ca()));
    return new OwnerApi(clients.dial(new InetSocketAddress(node.address(), CURATOR_PORT)));
  }

  private ManagementGrpc.ManagementBlockingV2Stub management() {
    return ManagementGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  GetClusterInfoResponse clusterInfo() throws StatusException {
    return management().getClusterInfo(GetClusterInfoRequest.getDefaultInstance());
  }

  void label(String node, String key, String value) throws StatusException {
    management()
        .updateNodeLabels(
            UpdateNodeLabelsRequest.newBuilder()
                .setId(node)
                .addUpsert(UpdateNodeLabelsRequest.Pair.newBuilder().setKey(key).setValue(value))
                .build());
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
