package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.RecordCopy;
import dev.polis.fixtures.TcpProxy;
import dev.polis.pki.Ed25519;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RpcStrangerTest {
  /** Longer than any test. */
  private static final Duration LONG = Duration.ofHours(1);

  /** Serves the methods for strangers, and keeps its streams open. */
  private static final class Local extends CuratorLocalGrpc.CuratorLocalImplBase {
    final AtomicInteger streams = new AtomicInteger();

    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      streams.incrementAndGet();
      caller.onNext(GetCurrentLeaderResponse.getDefaultInstance());
    }

    @Override
    public void getCACertificate(
        GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
      caller.onNext(GetCACertificateResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  /** Keeps the end of each call of one caller. */
  private static final class Ends<T> implements StreamObserver<T> {
    final Queue<T> messages = new ConcurrentLinkedQueue<>();
    final Queue<Status> ends = new ConcurrentLinkedQueue<>();

    @Override
    public void onNext(T message) {
      messages.add(message);
    }

    @Override
    public void onError(Throwable failure) {
      ends.add(((StatusRuntimeException) failure).getStatus());
    }

    @Override
    public void onCompleted() {
      ends.add(Status.OK);
    }

    void await(int messagesOf, int endsOf) throws Exception {
      Await.until(
          "%d messages and %d ends".formatted(messagesOf, endsOf),
          () -> messages.size() >= messagesOf && ends.size() >= endsOf);
    }
  }

  private static RpcFixture fixture(StrangerCalls limits) {
    return new RpcFixture(usual -> RecordCopy.with(usual, "strangerCalls", limits));
  }

  private static ManagedChannel stranger(RpcFixture fixture) {
    return fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));
  }

  private static void follow(ManagedChannel channel, Ends<GetCurrentLeaderResponse> ends) {
    CuratorLocalGrpc.newStub(channel)
        .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance(), ends);
  }

  private static RpcStatistics.Port curator(RpcFixture fixture) {
    return fixture.host.statistics().ports().stream()
        .filter(port -> port.name().equals(RpcHost.CURATOR))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName("a node takes at most 512 KiB of a call of 3 MiB that it refuses at the head")
  void refusedCallsAreNotRead() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.CURATOR, new ManagementGrpc.ManagementImplBase() {});
      InetSocketAddress curator = fixture.host.address(RpcHost.CURATOR);
      try (TcpProxy proxy = TcpProxy.to(curator.getHostString(), curator.getPort())) {
        ManagedChannel channel =
            fixture.keep(
                RpcClients.ephemeral(Ed25519.generate(), fixture.trust())
                    .dial(new InetSocketAddress(InetAddress.getLoopbackAddress(), proxy.port())));
        ApproveNodeRequest large =
            ApproveNodeRequest.newBuilder()
                .setPubkey(ByteString.copyFrom(new byte[3 << 20]))
                .build();
        // A client learns the node's window during its first call.
        for (int call = 0; call < 3; call++) {
          long before = proxy.sent();

          Status end =
              RpcFixture.statusOf(() -> ManagementGrpc.newBlockingStub(channel).approveNode(large));

          assertEquals(Status.Code.UNAUTHENTICATED, end.getCode(), end::toString);
          long sent = proxy.sent() - before;
          assertTrue(sent < 512 << 10, () -> sent + " bytes");
        }
      }
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "strangers may have few open calls, one more is refused with the limit, and members have no such limit")
  void callsOfStrangersAreFew() throws Exception {
    try (RpcFixture fixture = fixture(new StrangerCalls(4, 6, 100, 1 << 20, LONG))) {
      Local local = new Local();
      fixture.host.serve(RpcHost.CURATOR, local);
      Ends<GetCurrentLeaderResponse> strangers = new Ends<>();
      ManagedChannel first = stranger(fixture);
      ManagedChannel second = stranger(fixture);
      for (int call = 0; call < 20; call++) {
        follow(first, strangers);
      }
      strangers.await(4, 16);
      for (int call = 0; call < 20; call++) {
        follow(second, strangers);
      }
      strangers.await(6, 34);
      assertEquals(6, local.streams.get());
      assertTrue(strangers.ends.stream().allMatch(end -> end.getCode() == Status.Code.UNAVAILABLE));
      assertTrue(
          strangers.ends.peek().getDescription().contains("4 calls open on one connection"),
          () -> strangers.ends.peek().toString());

      Ends<GetCurrentLeaderResponse> members = new Ends<>();
      ManagedChannel owner = fixture.asOwner();
      for (int call = 0; call < 50; call++) {
        follow(owner, members);
      }
      members.await(50, 0);
      assertEquals(6, curator(fixture).calls());
      assertEquals(34, curator(fixture).callsTurnedAway());

      first.shutdownNow();
      second.shutdownNow();
      Await.until("the places to be free", () -> curator(fixture).calls() == 0);
      assertEquals(0, members.ends.size());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a call of a stranger ends after its time, a member's continues")
  void callsOfStrangersHaveATime() throws Exception {
    try (RpcFixture fixture =
        fixture(new StrangerCalls(4, 6, 100, 1 << 20, Duration.ofMillis(300)))) {
      fixture.host.serve(RpcHost.CURATOR, new Local());
      Ends<GetCurrentLeaderResponse> member = new Ends<>();
      Ends<GetCurrentLeaderResponse> stranger = new Ends<>();
      follow(fixture.asOwner(), member);
      member.await(1, 0);
      follow(stranger(fixture), stranger);
      stranger.await(1, 1);
      assertEquals(Status.Code.UNAVAILABLE, stranger.ends.peek().getCode());
      assertEquals(0, member.ends.size());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a stranger's silent stream has no handler until its first message")
  void silentStreamsHaveNoHandler() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(
          RpcHost.CURATOR,
          new AAAGrpc.AAAImplBase() {
            @Override
            public StreamObserver<EscrowRequest> escrow(StreamObserver<EscrowResponse> caller) {
              begun.countDown();
              return new StreamObserver<>() {
                @Override
                public void onNext(EscrowRequest message) {
                  caller.onNext(EscrowResponse.getDefaultInstance());
                }

                @Override
                public void onError(Throwable gone) {}

                @Override
                public void onCompleted() {
                  caller.onCompleted();
                }
              };
            }
          });
      Ends<EscrowResponse> ends = new Ends<>();
      StreamObserver<EscrowRequest> talking = AAAGrpc.newStub(stranger(fixture)).escrow(ends);
      ManagedChannel gone = stranger(fixture);
      AAAGrpc.newStub(gone).escrow(new Ends<>());
      Await.until("two open calls", () -> curator(fixture).calls() == 2);
      gone.shutdownNow();
      Await.until("one open call", () -> curator(fixture).calls() == 1);
      assertEquals(1, begun.getCount());
      talking.onNext(EscrowRequest.getDefaultInstance());
      talking.onNext(EscrowRequest.getDefaultInstance());
      ends.await(2, 0);
      talking.onCompleted();
      ends.await(2, 1);
      assertEquals(Status.Code.OK, ends.ends.peek().getCode());
      assertEquals(0, begun.getCount());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "large concurrent requests of strangers are ended, and a small one beside them is answered")
  void requestsOfStrangersAreBounded() throws Exception {
    int most = 1 << 20;
    try (RpcFixture fixture = fixture(new StrangerCalls(64, 64, 100, most, LONG))) {
      fixture.host.serve(RpcHost.CURATOR, new CuratorGrpc.CuratorImplBase() {});
      fixture.host.serve(RpcHost.CURATOR, new Local());
      RegisterNodeRequest large =
          RegisterNodeRequest.newBuilder()
              .setRegisterTicket(ByteString.copyFrom(new byte[most]))
              .build();
      ManagedChannel channel = stranger(fixture);
      List<Ends<RegisterNodeResponse>> calls = new ArrayList<>();
      for (int call = 0; call < 16; call++) {
        Ends<RegisterNodeResponse> ends = new Ends<>();
        calls.add(ends);
        CuratorGrpc.newStub(channel).registerNode(large, ends);
      }
      assertTrue(
          RpcFixture.statusOf(
                  () ->
                      CuratorLocalGrpc.newBlockingStub(stranger(fixture))
                          .getCACertificate(GetCACertificateRequest.getDefaultInstance()))
              .isOk());
      for (Ends<RegisterNodeResponse> each : calls) {
        each.await(0, 1);
        assertTrue(
            each.ends.peek().getDescription().contains("may take 1048576 bytes"),
            () -> each.ends.peek().toString());
      }
      Await.until("the places to be free", () -> curator(fixture).calls() == 0);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a stranger without a call is disconnected; a member, and a stranger with a call, stay")
  void silentStrangersAreDisconnected() throws Exception {
    try (RpcFixture fixture =
        new RpcFixture(usual -> RecordCopy.with(usual, "handshakeTime", Duration.ofMillis(700)))) {
      fixture.host.serve(RpcHost.CURATOR, new Local());
      Ends<GetCurrentLeaderResponse> ends = new Ends<>();
      follow(stranger(fixture), ends);
      ends.await(1, 0);
      ManagedChannel owner = fixture.asOwner();
      ManagedChannel silent = stranger(fixture);
      for (ManagedChannel each : List.of(owner, silent)) {
        assertTrue(
            RpcFixture.statusOf(
                    () ->
                        CuratorLocalGrpc.newBlockingStub(each)
                            .getCACertificate(GetCACertificateRequest.getDefaultInstance()))
                .isOk());
      }
      assertEquals(2, curator(fixture).strangers());
      Await.until("the end of the silent one", () -> curator(fixture).strangers() == 1);
      assertEquals(1, curator(fixture).members());
      assertEquals(0, ends.ends.size());
    }
  }

  @Test
  @DisplayName("the listener's status names a flood of calls")
  void floodOfCallsIsNamed() throws Exception {
    try (RpcFixture fixture = fixture(new StrangerCalls(1, 6, 100, 1 << 20, LONG))) {
      fixture.host.serve(RpcHost.CURATOR, new Local());
      Ends<GetCurrentLeaderResponse> strangers = new Ends<>();
      ManagedChannel channel = stranger(fixture);
      for (int call = 0; call < 80; call++) {
        follow(channel, strangers);
      }
      strangers.await(1, 79);
      Await.until(
          Duration.ofSeconds(20),
          "the flood to be named",
          () ->
              fixture.host.listeners().peek().orElseThrow().stream()
                  .anyMatch(
                      status ->
                          status.name().equals(RpcHost.CURATOR)
                              && status.callFlood().contains("calls are begun without")));
    }
  }
}
