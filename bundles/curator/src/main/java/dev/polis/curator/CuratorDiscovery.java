package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.pki.NodeId;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.stub.StreamObserver;
import java.time.Duration;

/** Tells anybody who leads and whom to trust; served by leaders and followers alike. */
final class CuratorDiscovery extends CuratorLocalGrpc.CuratorLocalImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final NodeId self;
  private final int port;
  private final ByteString clusterCa;
  private final Value<CuratorStatus> status;
  private final Network network;
  private final CallStreams streams;

  CuratorDiscovery(
      NodeId self,
      int port,
      ByteString clusterCa,
      Value<CuratorStatus> status,
      Network network,
      CallStreams streams) {
    this.self = self;
    this.port = port;
    this.clusterCa = clusterCa;
    this.status = status;
    this.network = network;
    this.streams = streams;
  }

  @Override
  public void getCACertificate(
      GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
    caller.onNext(
        GetCACertificateResponse.newBuilder().setIdentityCaCertificate(clusterCa).build());
    caller.onCompleted();
  }

  @Override
  public void getCurrentLeader(
      GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
    streams.serve("curator leader discovery", caller, this::follow);
  }

  private void follow(CallStreams.Sink<GetCurrentLeaderResponse> sink) throws InterruptedException {
    try (Watcher<CuratorStatus> watcher = status.watch()) {
      while (true) {
        sink.send(answer(watcher.get()));
      }
    }
  }

  private GetCurrentLeaderResponse answer(CuratorStatus now) {
    var response = GetCurrentLeaderResponse.newBuilder().setThisNodeId(self.text());
    return switch (now) {
      case CuratorStatus.Leading leading ->
          response
              .setLeaderNodeId(self.text())
              .setLeaderHost(ownAddress())
              .setLeaderPort(port)
              .build();
      case CuratorStatus.Following(NodeId leader) ->
          // The leader's id resolves in the hosts file of every node.
          response
              .setLeaderNodeId(leader.text())
              .setLeaderHost(leader.text())
              .setLeaderPort(port)
              .build();
      case CuratorStatus.Campaigning(String reason) ->
          throw RpcException.unavailable("no leader known: " + reason, RETRY);
      case CuratorStatus.Idle idle -> throw RpcException.unavailable(idle.describe(), RETRY);
    };
  }

  private String ownAddress() {
    return network.status().peek().orElseThrow() instanceof NetworkStatus.Up up
        ? up.externalAddress().getHostAddress()
        : "";
  }
}
