package dev.polis.curator.api;

import dev.polis.api.curator.CuratorStatus;
import dev.polis.curator.leader.AdvertisedAddress;
import dev.polis.curator.leader.LeaderFeeds;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * Serves the CuratorLocal API, which names the leader and the CA of the cluster. It needs no
 * credentials; leaders and followers serve it alike.
 */
public final class CuratorLocalApi extends CuratorLocalGrpc.CuratorLocalImplBase {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final NodeId self;
  private final Supplier<GetCACertificateResponse> authority;
  private final AdvertisedAddress address;
  private final LeaderFeeds leaders;

  public CuratorLocalApi(
      NodeId self,
      Supplier<GetCACertificateResponse> authority,
      AdvertisedAddress address,
      LeaderFeeds leaders) {
    this.self = self;
    this.authority = authority;
    this.address = address;
    this.leaders = leaders;
  }

  @Override
  public void getCACertificate(
      GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
    caller.onNext(authority.get());
    caller.onCompleted();
  }

  @Override
  public void getCurrentLeader(
      GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
    try {
      leaders.serve(caller, this::answer);
    } catch (InterruptedException gone) {
      // The caller disconnected, or the node ended the call.
      Thread.currentThread().interrupt();
    }
  }

  private GetCurrentLeaderResponse answer(CuratorStatus now) {
    var response = GetCurrentLeaderResponse.newBuilder().setThisNodeId(self.text());
    return switch (now) {
      case CuratorStatus.Leading leading ->
          response
              .setLeaderNodeId(self.text())
              .setLeaderHost(address.host())
              .setLeaderPort(address.port())
              .build();
      case CuratorStatus.Following following when following.host().isEmpty() ->
          throw RpcException.unavailable(
              "node %s leads but did not publish its address; ask again, or another curator"
                  .formatted(following.leader()),
              RETRY);
      case CuratorStatus.Following(NodeId leader, String host, int port) ->
          response.setLeaderNodeId(leader.text()).setLeaderHost(host).setLeaderPort(port).build();
      case CuratorStatus.Campaigning(String reason) ->
          throw RpcException.unavailable("no leader known: " + reason, RETRY);
      case CuratorStatus.Idle idle -> throw RpcException.unavailable(idle.describe(), RETRY);
    };
  }
}
