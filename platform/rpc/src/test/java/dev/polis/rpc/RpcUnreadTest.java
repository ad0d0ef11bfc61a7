package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.RecordCopy;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Attacks a host with callers that do not read their answers. */
@Timeout(60)
class RpcUnreadTest {
  /** Larger than the heap that a JVM of tests uses. A quarter of it holds 2,048 open calls. */
  private static final long HEAP = 128 << 20;

  private static final byte[] ANSWER = new byte[100_000];
  private static final int CALLS = 250;

  /** Answers with more bytes than a caller reads. */
  private static final class Large extends CuratorLocalGrpc.CuratorLocalImplBase {
    final AtomicInteger answered = new AtomicInteger();

    @Override
    public void getCACertificate(
        GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
      answered.incrementAndGet();
      caller.onNext(
          GetCACertificateResponse.newBuilder()
              .setIdentityCaCertificate(ByteString.copyFrom(ANSWER))
              .build());
      caller.onCompleted();
    }

    @Override
    public void getCurrentLeader(
        GetCurrentLeaderRequest request, StreamObserver<GetCurrentLeaderResponse> caller) {
      caller.onNext(GetCurrentLeaderResponse.newBuilder().setThisNodeId("a").build());
    }
  }

  /** Keeps the ends of calls. */
  private final Queue<Status> ends = new ConcurrentLinkedQueue<>();

  /** Opens a channel whose peer may send a byte of each answer. */
  private static ManagedChannel blocked(RpcFixture fixture, TlsIdentity identity) {
    return fixture.keep(
        NettyChannelBuilder.forAddress(fixture.host.address(RpcHost.CURATOR))
            .sslContext(NettyTls.client(TlsKeys.fixed(identity), fixture.trust().manager()))
            .initialFlowControlWindow(1)
            .build());
  }

  /** Begins a call without reading its answer. */
  private <Q> void begin(ManagedChannel channel, MethodDescriptor<Q, ?> method, Q request) {
    ClientCall<Q, ?> call = channel.newCall(method, CallOptions.DEFAULT);
    start(call);
    call.sendMessage(request);
    call.halfClose();
  }

  private <Q, A> void start(ClientCall<Q, A> call) {
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            ends.add(status);
          }
        },
        new Metadata());
  }

  private void certificate(ManagedChannel channel) {
    begin(
        channel,
        CuratorLocalGrpc.getGetCACertificateMethod(),
        GetCACertificateRequest.getDefaultInstance());
  }

  private static TlsIdentity stranger() {
    var pair = Ed25519.generate();
    return TlsIdentity.of(
        pair.getPrivate(), CertificateAuthority.selfSigned(pair, InstantSource.system()));
  }

  private static ManagedChannel other(RpcFixture fixture) {
    return fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));
  }

  private static Status ask(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            CuratorLocalGrpc.newBlockingStub(channel)
                .getCACertificate(GetCACertificateRequest.getDefaultInstance()));
  }

  private static RpcFixture fixture(StrangerCalls limits) {
    return new RpcFixture(usual -> RecordCopy.with(usual, "strangerCalls", limits));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "an answer that a stranger does not read counts as an open call, and its connection ends with the time of the call")
  void strangersAnswers() throws Exception {
    Duration time = Duration.ofSeconds(2);
    try (RpcFixture fixture = fixture(new StrangerCalls(4, 64, 100, 1 << 20, time))) {
      Large large = new Large();
      fixture.host.serve(RpcHost.CURATOR, large);
      ManagedChannel blocked = blocked(fixture, stranger());
      for (int call = 0; call < CALLS; call++) {
        certificate(blocked);
      }
      Await.until("all calls but four to be refused", () -> ends.size() >= CALLS - 4);
      assertEquals(4, large.answered.get());
      Await.until("the connection to end", () -> fixture.port(RpcHost.CURATOR).strangers() == 0);
      Await.until("the places to be free", () -> fixture.port(RpcHost.CURATOR).calls() == 0);
      assertTrue(ask(other(fixture)).isOk());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a stranger's unread answer gives way to the call of another, with its connection")
  void strangersGiveWay() throws Exception {
    try (RpcFixture fixture = fixture(new StrangerCalls(8, 8, 4, 1 << 20, Duration.ofHours(1)))) {
      fixture.host.serve(RpcHost.CURATOR, new Large());
      ManagedChannel blocked = blocked(fixture, stranger());
      for (int call = 0; call < 4; call++) {
        certificate(blocked);
      }
      Await.until("four open calls", () -> fixture.port(RpcHost.CURATOR).calls() == 4);
      assertTrue(ask(other(fixture)).isOk());
      Await.until(
          "the connection to end, and that of the other to stay",
          () -> fixture.port(RpcHost.CURATOR).strangers() == 1);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "answers that a member does not read take a quarter of the heap, then its connection ends, and others are served")
  void membersAnswers() throws Exception {
    try (RpcFixture fixture = RpcFixture.on(new HeapRoom(HEAP, LogTree.create().log("rpc")))) {
      fixture.host.serve(RpcHost.CURATOR, new Large());
      ManagedChannel owner = fixture.asOwner();
      List<ManagedChannel> blocked = new ArrayList<>();
      TlsIdentity greedy = fixture.user("greedy");
      for (int connection = 0; connection < 4; connection++) {
        blocked.add(blocked(fixture, greedy));
        certificate(blocked.getLast());
      }
      Await.until("four connections", () -> fixture.port(RpcHost.CURATOR).members() == 4);
      for (ManagedChannel each : blocked) {
        for (int call = 1; call < CALLS; call++) {
          certificate(each);
        }
      }
      Await.until("a connection to end", () -> fixture.port(RpcHost.CURATOR).members() < 4);
      assertTrue(ask(owner).isOk());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "open calls of members take a quarter of the heap, then the oldest of the member with the most ends, and others continue")
  void membersCalls() throws Exception {
    try (RpcFixture fixture = RpcFixture.on(new HeapRoom(HEAP, LogTree.create().log("rpc")))) {
      fixture.host.serve(RpcHost.CURATOR, new Large());
      fixture.host.serve(
          RpcHost.CURATOR,
          RpcFixture.serving(
              AAAGrpc.getServiceDescriptor(),
              method -> (call, headers) -> new io.grpc.ServerCall.Listener<>() {}));
      Queue<Status> ended = new ConcurrentLinkedQueue<>();
      CuratorLocalGrpc.newStub(fixture.asOwner())
          .getCurrentLeader(
              GetCurrentLeaderRequest.getDefaultInstance(),
              new StreamObserver<>() {
                @Override
                public void onNext(GetCurrentLeaderResponse message) {}

                @Override
                public void onError(Throwable failure) {
                  ended.add(Status.fromThrowable(failure));
                }

                @Override
                public void onCompleted() {}
              });
      TlsIdentity greedy = fixture.user("greedy");
      int calls = 0;
      for (int connection = 0; connection < 10; connection++) {
        ManagedChannel channel = fixture.as(greedy);
        for (int call = 0; call < CALLS; call++) {
          start(channel.newCall(AAAGrpc.getEscrowMethod(), CallOptions.DEFAULT));
          calls++;
        }
      }
      int most = (int) (HEAP / 4 / (16 << 10));
      int beyond = calls - most;
      Await.until("the calls beyond the room to end", () -> ends.size() >= beyond);
      assertTrue(
          ends.stream()
              .allMatch(
                  end ->
                      end.getCode() == Status.Code.UNAVAILABLE
                          && end.getDescription().contains("open calls")),
          ends::toString);
      assertEquals(List.of(), List.copyOf(ended));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a caller that talks and does not read the answers is not heard further, until it reads")
  void talkers() throws Exception {
    AtomicInteger heard = new AtomicInteger();
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(
          RpcHost.CURATOR,
          new AAAGrpc.AAAImplBase() {
            @Override
            public StreamObserver<EscrowRequest> escrow(StreamObserver<EscrowResponse> caller) {
              return new StreamObserver<>() {
                @Override
                public void onNext(EscrowRequest message) {
                  heard.incrementAndGet();
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
      ClientCall<EscrowRequest, EscrowResponse> call =
          blocked(fixture, fixture.user("greedy"))
              .newCall(AAAGrpc.getEscrowMethod(), CallOptions.DEFAULT);
      AtomicInteger read = new AtomicInteger();
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onMessage(EscrowResponse message) {
              read.incrementAndGet();
            }
          },
          new Metadata());
      for (int message = 0; message < CALLS; message++) {
        call.sendMessage(EscrowRequest.getDefaultInstance());
      }
      assertEquals(Status.Code.UNAVAILABLE, ask(fixture.asOwner()).getCode(), "another service");
      Await.until("the first message to be heard", () -> heard.get() > 0);
      assertTrue(heard.get() <= 2, () -> heard + " messages were heard");
      call.request(CALLS);
      Await.until("all messages to be heard", () -> heard.get() == CALLS);
      Await.until("all answers to be read", () -> read.get() == CALLS);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a call that lasts ends with its connection within seconds of the end of its caller's certificate")
  void endedCertificate() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.CURATOR, new Large());
      ManagedChannel owner = fixture.asOwner();
      AtomicInteger messages = new AtomicInteger();
      CuratorLocalGrpc.newStub(owner)
          .getCurrentLeader(
              GetCurrentLeaderRequest.getDefaultInstance(),
              new StreamObserver<>() {
                @Override
                public void onNext(GetCurrentLeaderResponse message) {
                  messages.incrementAndGet();
                }

                @Override
                public void onError(Throwable failure) {
                  ends.add(Status.fromThrowable(failure));
                }

                @Override
                public void onCompleted() {}
              });
      Await.until("a message", () -> messages.get() == 1);
      fixture.ahead = Duration.ofDays(366);
      Await.until("the call to end", () -> ends.size() == 1);
      assertEquals(Status.Code.UNAUTHENTICATED, ends.peek().getCode());
      assertTrue(ends.peek().getDescription().contains("is valid from"), ends::toString);
      Await.until("its connection to end", () -> fixture.port(RpcHost.CURATOR).members() == 0);
    }
  }
}
