package dev.polis.ctl.session;

import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Asks a node which node leads its cluster. */
final class CuratorLeader {

  /** A node knows its leader, or that it knows none, at once. */
  private static final Duration PATIENCE = Duration.ofMillis(700);

  private CuratorLeader() {}

  /**
   * Returns the address of the leader; none if the node knows none, or does not answer.
   *
   * <p>The answer is not trusted: the caller verifies the certificate of the node at that address.
   */
  static Optional<String> knownAt(InetSocketAddress curator) throws InterruptedException {
    ManagedChannel channel = RpcClients.anonymous(RpcTrust.anybody()).dial(curator);
    try {
      GetCurrentLeaderResponse answer =
          CuratorLocalGrpc.newBlockingV2Stub(channel)
              .withDeadlineAfter(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
              .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance())
              .read();
      return Optional.ofNullable(answer).map(known -> host(known, curator));
    } catch (StatusException unknown) {
      return Optional.empty();
    } finally {
      channel.shutdownNow();
    }
  }

  /** Returns the leader's host; one that does not know its address yet has that of this call. */
  private static String host(GetCurrentLeaderResponse answer, InetSocketAddress curator) {
    return answer.getLeaderHost().isEmpty() ? curator.getHostString() : answer.getLeaderHost();
  }
}
