package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.UpdateNodeStatusResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class NonBlockingMethodsTest {

  private static final String EVENTS = "rpc-events";

  /** Answers with the name of the thread that it runs on. */
  private static class Threads extends CuratorGrpc.CuratorImplBase {
    @Override
    public void getConsensusStatus(
        GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
      observer.onNext(
          GetConsensusStatusResponse.newBuilder()
              .addEtcdMember(
                  GetConsensusStatusResponse.EtcdMember.newBuilder()
                      .setId(Thread.currentThread().getName()))
              .build());
      observer.onCompleted();
    }
  }

  /** Declares that its handlers never wait. */
  private static class Prompt extends Threads implements NonBlockingMethods {
    final List<String> changes = new ArrayList<>();

    @Override
    public Set<String> nonBlockingMethods() {
      return Set.of(
          CuratorGrpc.getGetConsensusStatusMethod().getFullMethodName(),
          CuratorGrpc.getUpdateNodeStatusMethod().getFullMethodName());
    }

    @Override
    public void updateNodeStatus(
        UpdateNodeStatusRequest request, StreamObserver<UpdateNodeStatusResponse> observer) {
      changes.add(Thread.currentThread().getName());
      observer.onNext(UpdateNodeStatusResponse.getDefaultInstance());
      observer.onCompleted();
    }
  }

  private static String thread(ManagedChannel channel) {
    return CuratorGrpc.newBlockingStub(channel)
        .withDeadlineAfter(RpcFixture.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance())
        .getEtcdMember(0)
        .getId();
  }

  @Test
  @DisplayName("a handler that never waits runs on the thread that read its request, others do not")
  void whichThread() {
    try (RpcFixture fixture = new RpcFixture()) {
      var owner = fixture.asOwner();
      RpcRegistration first = fixture.host.serve(RpcHost.CURATOR, new Threads());
      assertFalse(thread(owner).startsWith(EVENTS), () -> thread(owner));
      fixture.host.serve(RpcHost.CURATOR, new Prompt());
      first.close();
      assertTrue(thread(owner).startsWith(EVENTS), () -> thread(owner));
    }
  }

  @Test
  @DisplayName("a change runs on a thread of its own, with any declaration of its handler")
  void changes() {
    try (RpcFixture fixture = new RpcFixture()) {
      Prompt prompt = new Prompt();
      fixture.host.serve(RpcHost.CURATOR, prompt);
      CuratorGrpc.newBlockingStub(fixture.as(fixture.node()))
          .updateNodeStatus(UpdateNodeStatusRequest.getDefaultInstance());
      assertEquals(1, prompt.changes.size());
      assertFalse(prompt.changes.getFirst().startsWith(EVENTS), prompt.changes::toString);
    }
  }

  @Test
  @DisplayName("a forbidden caller is refused with the same message, and counted")
  void refused() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.CURATOR, new Prompt());
      var stranger = fixture.channel(RpcClients.anonymous(fixture.trust()));
      Status status = RpcFixture.statusOf(() -> thread(stranger));
      assertEquals(Status.Code.UNAUTHENTICATED, status.getCode(), status.toString());
      assertTrue(status.getDescription().contains("needs a certificate"), status.toString());
      var removed = fixture.user("removed");
      var channel = fixture.as(removed);
      assertTrue(thread(channel).startsWith(EVENTS));
      fixture.revoke(removed);
      AtomicReference<Status> last = new AtomicReference<>(Status.OK);
      // The first call may meet the end of its connection, which the host closes at once.
      Await.until(
          Duration.ofSeconds(10),
          "a call of the revoked user to be refused by the host",
          () -> {
            last.set(RpcFixture.statusOf(() -> thread(channel)));
            return last.get().getCode() == Status.Code.UNAUTHENTICATED;
          },
          () -> "the last one ended with " + last.get());
      assertTrue(last.get().getDescription().contains("was revoked"), last.get()::toString);
    }
  }

  @Test
  @DisplayName(
      "an exception of such a handler ends only its own call, and the next call is answered")
  void throwing() {
    try (RpcFixture fixture = new RpcFixture()) {
      AtomicBoolean broken = new AtomicBoolean(true);
      fixture.host.serve(
          RpcHost.CURATOR,
          new Prompt() {
            @Override
            public void getConsensusStatus(
                GetConsensusStatusRequest request,
                StreamObserver<GetConsensusStatusResponse> observer) {
              if (broken.get()) {
                throw new IllegalStateException("a defect");
              }
              super.getConsensusStatus(request, observer);
            }
          });
      var owner = fixture.asOwner();
      Status status = RpcFixture.statusOf(() -> thread(owner));
      assertEquals(Status.Code.INTERNAL, status.getCode(), status.toString());
      broken.set(false);
      assertTrue(thread(owner).startsWith(EVENTS));
    }
  }

  @Test
  @DisplayName(
      "no call is lost while providers that wait and providers that do not replace one another")
  void replacedUnderLoad() throws Exception {
    try (RpcFixture fixture = new RpcFixture();
        ExecutorService callers = new TestThreads()) {
      AtomicBoolean done = new AtomicBoolean();
      AtomicInteger here = new AtomicInteger();
      AtomicInteger elsewhere = new AtomicInteger();
      RpcRegistration served = fixture.host.serve(RpcHost.CURATOR, new Threads());
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        var owner = fixture.asOwner();
        running.add(
            callers.submit(
                () -> {
                  while (!done.get()) {
                    (thread(owner).startsWith(EVENTS) ? here : elsewhere).incrementAndGet();
                  }
                }));
      }
      for (int swap = 0; swap < 20; swap++) {
        AtomicInteger next = swap % 2 == 0 ? here : elsewhere;
        int before = next.get();
        // Without a provider for a moment: calls are held, and the next provider answers them.
        served.close();
        served = fixture.host.serve(RpcHost.CURATOR, swap % 2 == 0 ? new Prompt() : new Threads());
        Await.until("calls of the next provider", () -> next.get() > before + 10);
      }
      done.set(true);
      for (Future<?> each : running) {
        each.get(RpcFixture.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
      Await.until(
          "no call to be left",
          () -> fixture.host.statistics().methods().stream().allMatch(m -> m.active() == 0));
    }
  }
}
