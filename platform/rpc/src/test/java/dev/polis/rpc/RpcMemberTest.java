package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.RecordCopy;
import dev.polis.logtree.LogTree;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Attacks a host as a hostile or a former member of the cluster. */
@Timeout(60)
class RpcMemberTest {
  /**
   * The assumed heap, of which requests may take a quarter; larger than the heap in use by a JVM of
   * tests.
   */
  private static final long HEAP = 128 << 20;

  private static final int REQUEST = (4 << 20) - 1;
  private static final int REQUESTS = 20;

  /** The bytes that gRPC sends of an incomplete request: it keeps back up to 1 MiB. */
  private static final int SENT = REQUEST - (1 << 20);

  private static Status ask(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            ClientCalls.blockingUnaryCall(
                channel,
                RpcFixture.typed(ManagementGrpc.getGetClusterInfoMethod()),
                CallOptions.DEFAULT,
                GetClusterInfoRequest.getDefaultInstance()));
  }

  /** Serves methods that report a whole request. */
  private static void serve(RpcFixture fixture) {
    fixture.host.serve(
        RpcHost.CURATOR,
        RpcFixture.serving(
            ManagementGrpc.getServiceDescriptor(),
            method ->
                (call, headers) -> {
                  call.request(1);
                  return new ServerCall.Listener<>() {
                    @Override
                    public void onHalfClose() {
                      call.close(Status.ALREADY_EXISTS, new Metadata());
                    }
                  };
                }));
  }

  @Test
  @Tag("attack")
  @DisplayName("the connections of a revoked certificate close at once, those of others stay")
  void revokedPeersAreDisconnected() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      serve(fixture);
      TlsIdentity stolen = fixture.user("operator");
      ManagedChannel owner = fixture.asOwner();
      assertEquals(Status.Code.ALREADY_EXISTS, ask(owner).getCode());
      for (int each = 0; each < 3; each++) {
        assertEquals(Status.Code.ALREADY_EXISTS, ask(fixture.as(stolen)).getCode());
      }
      assertEquals(4, fixture.port(RpcHost.CURATOR).members());

      fixture.revoke(stolen);

      Await.until(
          Duration.ofSeconds(1),
          "the connections of the revoked certificate to be closed",
          () -> fixture.port(RpcHost.CURATOR).members() == 1);
      assertEquals(Status.Code.ALREADY_EXISTS, ask(owner).getCode());
      Status refused = ask(fixture.as(stolen));
      assertEquals(Status.Code.UNAUTHENTICATED, refused.getCode());
      assertTrue(refused.getDescription().contains("was revoked"), refused::toString);
    }
  }

  @Test
  @DisplayName("each open call of a revoked certificate ends with the reason")
  void openCallsOfRevokedPeers() throws Exception {
    int calls = 64;
    CountDownLatch open = new CountDownLatch(calls);
    try (RpcFixture fixture = new RpcFixture();
        ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
      fixture.host.serve(
          RpcHost.CURATOR,
          new CuratorGrpc.CuratorImplBase() {
            @Override
            public void getConsensusStatus(
                GetConsensusStatusRequest request,
                StreamObserver<GetConsensusStatusResponse> observer) {
              open.countDown();
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException ended) {
                observer.onError(Status.CANCELLED.asRuntimeException());
              }
            }
          });
      TlsIdentity stolen = fixture.user("operator");
      ManagedChannel channel = fixture.as(stolen);
      List<Future<Status>> answers = new ArrayList<>();
      for (int call = 0; call < calls; call++) {
        answers.add(
            callers.submit(
                () ->
                    RpcFixture.statusOf(
                        () ->
                            CuratorGrpc.newBlockingStub(channel)
                                .getConsensusStatus(
                                    GetConsensusStatusRequest.getDefaultInstance()))));
      }
      assertTrue(open.await(10, TimeUnit.SECONDS), "the calls did not begin within 10 s");

      fixture.revoke(stolen);

      for (Future<Status> answer : answers) {
        Status status = answer.get(10, TimeUnit.SECONDS);
        assertEquals(Status.Code.UNAUTHENTICATED, status.getCode(), status::toString);
      }
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("one member takes at most a third of a port's places, with any certificates")
  void oneMemberTakesAThird() throws Exception {
    ConnectionLimits six = new ConnectionLimits(6, 64, 64, 100);
    try (RpcFixture fixture = new RpcFixture(usual -> RecordCopy.with(usual, "connections", six))) {
      serve(fixture);
      for (int each = 0; each < 5; each++) {
        assertEquals(Status.Code.ALREADY_EXISTS, ask(fixture.as(fixture.user("greedy"))).getCode());
      }
      assertEquals(2, fixture.port(RpcHost.CURATOR).members());
      assertEquals(3, fixture.port(RpcHost.CURATOR).strangers());
      assertEquals(Status.Code.ALREADY_EXISTS, ask(fixture.asOwner()).getCode());
      assertEquals(3, fixture.port(RpcHost.CURATOR).members());
    }
  }

  /** Holds a request of which all but the last byte are sent until the test is over. */
  private static final class Unfinished extends InputStream implements Drainable, KnownLength {
    private final CountDownLatch over;

    Unfinished(CountDownLatch over) {
      this.over = over;
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      target.write(new byte[REQUEST - 1]);
      try {
        over.await();
      } catch (InterruptedException ended) {
        throw new InterruptedIOException("the call ended before its request was whole");
      }
      target.write(0);
      return REQUEST;
    }

    @Override
    public int available() {
      return REQUEST;
    }

    @Override
    public int read() {
      throw new IllegalStateException("a request that drains is not read");
    }
  }

  /** Sends requests that do not end. */
  private static MethodDescriptor<Unfinished, byte[]> unfinished() {
    return ManagementGrpc.getGetClusterInfoMethod().toBuilder(
            new MethodDescriptor.Marshaller<Unfinished>() {
              @Override
              public InputStream stream(Unfinished request) {
                return request;
              }

              @Override
              public Unfinished parse(InputStream stream) {
                throw new IllegalStateException("a client reads no requests");
              }
            },
            new MethodDescriptor.Marshaller<byte[]>() {
              @Override
              public InputStream stream(byte[] answer) {
                return new ByteArrayInputStream(answer);
              }

              @Override
              public byte[] parse(InputStream stream) {
                return new byte[0];
              }
            })
        .build();
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a member's concurrent requests take at most a quarter of the heap, then the largest end, and others are served")
  void requestsAreBoundedInSum() throws Exception {
    try (RpcFixture fixture = RpcFixture.on(new HeapRoom(HEAP, LogTree.create().log("rpc")))) {
      serve(fixture);
      CountDownLatch over = new CountDownLatch(1);
      Queue<Status> ends = new ConcurrentLinkedQueue<>();
      ManagedChannel greedy = fixture.as(fixture.user("greedy"));
      ManagedChannel other = fixture.asOwner();
      // Connects first, since an unconnected channel would send them one after the other.
      assertEquals(Status.Code.ALREADY_EXISTS, ask(greedy).getCode());
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int each = 0; each < REQUESTS; each++) {
          ClientCall<Unfinished, byte[]> call = greedy.newCall(unfinished(), CallOptions.DEFAULT);
          call.start(new Ends(ends), new Metadata());
          threads.execute(() -> call.sendMessage(new Unfinished(over)));
        }
        try {
          Await.until(
              "the requests beyond the room to be refused",
              () -> {
                // gRPC only sends an incomplete message together with a complete one.
                ask(greedy);
                return ends.stream().filter(RpcMemberTest::isFull).count()
                    >= REQUESTS - HEAP / 4 / SENT;
              });
          assertEquals(Status.Code.ALREADY_EXISTS, ask(other).getCode());
        } finally {
          over.countDown();
        }
      }
    }
  }

  /** Keeps the end of a call without messages. */
  private static final class Ends extends ClientCall.Listener<byte[]> {
    private final Queue<Status> ends;

    Ends(Queue<Status> ends) {
      this.ends = ends;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      ends.add(status);
    }
  }

  private static boolean isFull(Status end) {
    return end.getCode() == Status.Code.UNAVAILABLE
        && String.valueOf(end.getDescription()).contains("requests of members may take");
  }
}
