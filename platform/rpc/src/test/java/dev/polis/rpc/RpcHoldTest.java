package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.RecordCopy;
import dev.polis.fixtures.TestThreads;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RpcHoldTest {
  private final ExecutorService callers = new TestThreads();

  /** Answers with its own name. */
  private static class Named extends CuratorGrpc.CuratorImplBase {
    private final String name;
    final AtomicInteger asked = new AtomicInteger();

    Named(String name) {
      this.name = name;
    }

    @Override
    public void getConsensusStatus(
        GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
      asked.incrementAndGet();
      observer.onNext(answer(name));
      observer.onCompleted();
    }
  }

  private static GetConsensusStatusResponse answer(String name) {
    return GetConsensusStatusResponse.newBuilder()
        .addEtcdMember(GetConsensusStatusResponse.EtcdMember.newBuilder().setId(name))
        .build();
  }

  /** Answers when the test allows it. */
  private static final class Slow extends CuratorGrpc.CuratorImplBase {
    final CountDownLatch entered = new CountDownLatch(1);
    final CountDownLatch mayAnswer = new CountDownLatch(1);
    final AtomicBoolean interrupted = new AtomicBoolean();

    @Override
    public void getConsensusStatus(
        GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
      entered.countDown();
      try {
        mayAnswer.await();
      } catch (InterruptedException e) {
        interrupted.set(true);
        return;
      }
      observer.onNext(answer("slow"));
      observer.onCompleted();
    }
  }

  private static String ask(ManagedChannel channel) {
    return CuratorGrpc.newBlockingStub(channel)
        .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance())
        .getEtcdMember(0)
        .getId();
  }

  private static void awaitHeld(RpcFixture fixture, int calls) throws Exception {
    Await.until(calls + " held calls", () -> fixture.host.statistics().heldNow() == calls);
  }

  @Test
  @DisplayName("calls during the absence of the provider wait, and each reaches its successor once")
  void callsWaitForTheSuccessor() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      ManagedChannel owner = fixture.asOwner();
      fixture.host.serve(RpcHost.CURATOR, new Named("first")).close();

      List<Future<String>> answers = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        answers.add(callers.submit(() -> ask(owner)));
      }
      awaitHeld(fixture, 50);
      assertEquals(
          List.of("metropolis.node.core.curator.proto.api.Curator"),
          fixture.host.listeners().peek().orElseThrow().getFirst().away());
      Named second = new Named("second");
      fixture.host.serve(RpcHost.CURATOR, second);

      for (Future<String> each : answers) {
        assertEquals("second", each.get(10, TimeUnit.SECONDS));
      }
      assertEquals(50, second.asked.get());
      assertEquals(50, method(fixture).held());
      assertEquals(0, fixture.host.statistics().heldNow());
    }
  }

  private static RpcStatistics.Method method(RpcFixture fixture) {
    return fixture.host.statistics().methods().stream()
        .filter(each -> each.method().endsWith("/GetConsensusStatus"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @DisplayName(
      "a caller that is removed while its call waits is refused at once, and its call ends")
  void removedWhileItWaits() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      TlsIdentity removed = fixture.user("owner");
      ManagedChannel caller = fixture.as(removed);
      fixture.host.serve(RpcHost.CURATOR, new Named("first")).close();
      Future<String> answer = callers.submit(() -> ask(caller));
      awaitHeld(fixture, 1);

      fixture.host.revoke(
          fixture.ca.revocationList(
              BigInteger.ONE, List.of(removed.certificate().getSerialNumber())));

      ExecutionException told =
          assertThrows(ExecutionException.class, () -> answer.get(10, TimeUnit.SECONDS));
      assertEquals(Status.Code.UNAUTHENTICATED, Status.fromThrowable(told.getCause()).getCode());
      Named second = new Named("second");
      RpcRegistration registration = fixture.host.serve(RpcHost.CURATOR, second);
      awaitHeld(fixture, 0);
      registration.close();
      assertEquals(0, second.asked.get());
      assertEquals(0, method(fixture).drained(), "it waited for a call that has ended");
    }
  }

  @Test
  @DisplayName("a provider beside another gets the new calls; when either stops, the other serves")
  void sideBySide() {
    try (RpcFixture fixture = new RpcFixture()) {
      ManagedChannel owner = fixture.asOwner();
      RpcRegistration old = fixture.host.serve(RpcHost.CURATOR, new Named("old"));
      assertEquals("old", ask(owner));
      RpcRegistration young = fixture.host.serve(RpcHost.CURATOR, new Named("young"));
      assertEquals("young", ask(owner));
      young.close();
      assertEquals("old", ask(owner));
      fixture.host.serve(RpcHost.CURATOR, new Named("younger"));
      old.close();
      assertEquals("younger", ask(owner));
      assertEquals(0, method(fixture).held());
    }
  }

  @Test
  @DisplayName(
      "a call waits at most for the host's limit, and is then refused with a time to call again")
  void waitIsBounded() {
    try (RpcFixture fixture = holding(10, Duration.ofMillis(300))) {
      ManagedChannel owner = fixture.asOwner();
      fixture.host.serve(RpcHost.CURATOR, new Named("first")).close();

      StatusRuntimeException refused =
          org.junit.jupiter.api.Assertions.assertThrows(
              StatusRuntimeException.class, () -> ask(owner));

      assertAll(
          () -> assertEquals(Status.Code.UNAVAILABLE, refused.getStatus().getCode()),
          () ->
              assertTrue(
                  refused.getStatus().getDescription().contains("away for PT0.3S"),
                  refused.toString()),
          () -> assertEquals("1000", refused.getTrailers().get(RpcException.RETRY_DELAY)));
    }
  }

  @Test
  @DisplayName("at most the host's number of calls wait; the others are refused at once")
  void numberIsBounded() throws Exception {
    try (RpcFixture fixture = holding(2, Duration.ofSeconds(20))) {
      ManagedChannel owner = fixture.asOwner();
      fixture.host.serve(RpcHost.CURATOR, new Named("first")).close();
      Future<String> one = callers.submit(() -> ask(owner));
      Future<String> two = callers.submit(() -> ask(owner));
      awaitHeld(fixture, 2);

      Status third = RpcFixture.statusOf(() -> ask(owner));
      fixture.host.serve(RpcHost.CURATOR, new Named("second"));

      assertEquals(Status.Code.UNAVAILABLE, third.getCode());
      assertTrue(third.getDescription().contains("too many"), third.toString());
      assertEquals("second", one.get());
      assertEquals("second", two.get());
    }
  }

  @Test
  @DisplayName("a held call keeps its caller's deadline, and a caller that leaves frees its place")
  void deadlineIsKept() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      ManagedChannel owner = fixture.asOwner();
      fixture.host.serve(RpcHost.CURATOR, new Named("first")).close();

      Status status =
          RpcFixture.statusOf(
              () ->
                  CuratorGrpc.newBlockingStub(owner)
                      .withDeadlineAfter(400, TimeUnit.MILLISECONDS)
                      .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance()));

      assertEquals(Status.Code.DEADLINE_EXCEEDED, status.getCode());
      awaitHeld(fixture, 0);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "strangers are refused at once while a provider is absent, and take no member's place")
  void strangersAreNotHeld() throws Exception {
    try (RpcFixture fixture = holding(1, Duration.ofSeconds(20))) {
      fixture.host.serve(RpcHost.CURATOR, new Named("first")).close();
      ManagedChannel stranger = fixture.channel(RpcClients.anonymous(fixture.trust()));
      ManagedChannel owner = fixture.asOwner();
      Callable<Status.Code> attack = () -> RpcFixture.statusOf(() -> ask(stranger)).getCode();
      for (Future<Status.Code> refused : callers.invokeAll(Collections.nCopies(10, attack))) {
        assertEquals(Status.Code.UNAUTHENTICATED, refused.get());
      }
      assertEquals(0, method(fixture).held());

      Future<String> member = callers.submit(() -> ask(owner));
      awaitHeld(fixture, 1);
      assertEquals(Status.Code.UNAUTHENTICATED, attack.call());
      fixture.host.serve(RpcHost.CURATOR, new Named("second"));
      assertEquals("second", member.get());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("no call of a stranger is held, also not of a method that it may call")
  void openMethodsAreNotHeld() throws Exception {
    try (RpcFixture fixture = holding(1, Duration.ofSeconds(20))) {
      fixture.host.serve(RpcHost.CURATOR, new CuratorLocalGrpc.CuratorLocalImplBase() {}).close();
      Status refused =
          RpcFixture.statusOf(
              () ->
                  CuratorLocalGrpc.newBlockingStub(
                          fixture.channel(RpcClients.anonymous(fixture.trust())))
                      .withDeadlineAfter(10, TimeUnit.SECONDS)
                      .getCACertificate(GetCACertificateRequest.getDefaultInstance()));
      assertEquals(Status.Code.UNAVAILABLE, refused.getCode());
      assertTrue(refused.getDescription().contains("is away; try again"), refused.toString());
      assertEquals(0, fixture.host.statistics().heldNow());
    }
  }

  @Test
  @DisplayName(
      "D-46 a provider that stops finishes its calls in flight, and the stop waits for them")
  void callsInFlightAreDrained() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      ManagedChannel owner = fixture.asOwner();
      Slow slow = new Slow();
      RpcRegistration registration = fixture.host.serve(RpcHost.CURATOR, slow);
      Future<String> inFlight = callers.submit(() -> ask(owner));
      slow.entered.await();

      CompletableFuture<Void> gone = CompletableFuture.runAsync(registration::close, callers);
      Await.until("no new call to reach it", () -> method(fixture).drained() == 1);
      Future<String> held = callers.submit(() -> ask(owner));
      awaitHeld(fixture, 1);
      assertFalse(gone.isDone());
      slow.mayAnswer.countDown();

      assertEquals("slow", inFlight.get(5, TimeUnit.SECONDS));
      gone.get(5, TimeUnit.SECONDS);
      fixture.host.serve(RpcHost.CURATOR, new Named("next"));
      assertEquals("next", held.get(5, TimeUnit.SECONDS));
      assertEquals(1, method(fixture).drained());
      assertFalse(slow.interrupted.get());
    }
  }

  @Test
  @DisplayName("a stuck call is ended when draining takes too long, and its handler is interrupted")
  void drainIsBounded() throws Exception {
    try (RpcFixture fixture =
        new RpcFixture(usual -> RecordCopy.with(usual, "drainTime", Duration.ofMillis(200)))) {
      ManagedChannel owner = fixture.asOwner();
      Slow slow = new Slow();
      RpcRegistration registration = fixture.host.serve(RpcHost.CURATOR, slow);
      Future<Status> stuck = callers.submit(() -> RpcFixture.statusOf(() -> ask(owner)));
      slow.entered.await();

      registration.close();

      assertEquals(Status.Code.UNAVAILABLE, stuck.get(5, TimeUnit.SECONDS).getCode());
      Await.until("the handler's interruption", slow.interrupted::get);
    }
  }

  @Test
  @DisplayName("a handler may withdraw its own service without waiting for itself")
  void handlerMayRemoveItself() throws Exception {
    // Longer than the limit of this test, so that a wait for itself would show.
    try (RpcFixture fixture =
        new RpcFixture(usual -> RecordCopy.with(usual, "drainTime", Duration.ofMinutes(1)))) {
      AtomicReference<RpcRegistration> own = new AtomicReference<>();
      own.set(
          fixture.host.serve(
              RpcHost.CURATOR,
              new Named("leaving") {
                @Override
                public void getConsensusStatus(
                    GetConsensusStatusRequest request,
                    StreamObserver<GetConsensusStatusResponse> observer) {
                  own.get().close();
                  super.getConsensusStatus(request, observer);
                }
              }));
      ManagedChannel owner = fixture.asOwner();
      Future<String> answer = callers.submit(() -> ask(owner));
      assertEquals("leaving", answer.get());
    }
  }

  @Test
  @DisplayName(
      "streams of a provider that stops end with UNAVAILABLE and a delay; new ones are refused in the same way")
  void streamsEnd() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      CountDownLatch interrupted = new CountDownLatch(1);
      RpcRegistration registration =
          fixture.host.serve(
              RpcHost.CURATOR,
              new CuratorGrpc.CuratorImplBase() {
                @Override
                public void watch(WatchRequest request, StreamObserver<WatchEvent> observer) {
                  observer.onNext(WatchEvent.getDefaultInstance());
                  try {
                    new CountDownLatch(1).await();
                  } catch (InterruptedException e) {
                    interrupted.countDown();
                  }
                }
              });
      ManagedChannel owner = fixture.asOwner();
      Iterator<WatchEvent> stream =
          CuratorGrpc.newBlockingStub(owner).watch(WatchRequest.getDefaultInstance());
      stream.next();

      registration.close();

      assertTrue(interrupted.await(5, TimeUnit.SECONDS), "the handler waits on");
      for (Iterator<WatchEvent> each :
          List.of(
              stream,
              CuratorGrpc.newBlockingStub(owner).watch(WatchRequest.getDefaultInstance()))) {
        StatusRuntimeException ended =
            org.junit.jupiter.api.Assertions.assertThrows(StatusRuntimeException.class, each::next);
        assertEquals(Status.Code.UNAVAILABLE, ended.getStatus().getCode());
        assertEquals("1000", ended.getTrailers().get(RpcException.RETRY_DELAY));
      }
    }
  }

  @Test
  @DisplayName("a handler's thread is interrupted when its caller leaves")
  void callerGoneInterruptsHandler() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      Slow slow = new Slow();
      fixture.host.serve(RpcHost.CURATOR, slow);
      ManagedChannel owner = fixture.asOwner();
      Future<?> call = callers.submit(() -> ask(owner));
      slow.entered.await();
      owner.shutdownNow();
      Await.until("the handler's interruption", slow.interrupted::get);
      Await.until(
          "the call to count as CANCELLED",
          () -> method(fixture).codes().getOrDefault(Status.Code.CANCELLED, 0L) == 1);
      assertTrue(call.state() != Future.State.SUCCESS);
    }
  }

  @Test
  @DisplayName("the caller's deadline reaches the handler, and the calls that the handler makes")
  void deadlineReachesTheHandler() {
    try (RpcFixture fixture = new RpcFixture()) {
      AtomicReference<Deadline> seen = new AtomicReference<>();
      fixture.host.serve(
          RpcHost.CURATOR,
          new Named("x") {
            @Override
            public void getConsensusStatus(
                GetConsensusStatusRequest request,
                StreamObserver<GetConsensusStatusResponse> observer) {
              seen.set(Context.current().getDeadline());
              super.getConsensusStatus(request, observer);
            }
          });
      CuratorGrpc.newBlockingStub(fixture.asOwner())
          .withDeadlineAfter(30, TimeUnit.SECONDS)
          .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance());
      long left = seen.get().timeRemaining(TimeUnit.SECONDS);
      assertTrue(left > 20 && left <= 30, "left: " + left + " s");
    }
  }

  @Test
  @DisplayName("a method that was never served is UNIMPLEMENTED at once, with the reason")
  void unknownIsUnimplemented() {
    try (RpcFixture fixture = holding(1, Duration.ZERO)) {
      fixture.host.serve(RpcHost.CURATOR, new AAAGrpc.AAAImplBase() {});
      Status status = RpcFixture.statusOf(() -> ask(fixture.asOwner()));
      assertEquals(Status.Code.UNIMPLEMENTED, status.getCode());
      assertTrue(status.getDescription().contains("listener 'curator'"), status.toString());
    }
  }

  @Test
  @DisplayName("while services are added, a method that is not there yet is UNAVAILABLE")
  void unknownYet() {
    try (RpcFixture fixture = new RpcFixture()) {
      Status before = RpcFixture.statusOf(() -> ask(fixture.asOwner()));
      assertEquals(Status.Code.UNAVAILABLE, before.getCode(), before::toString);
      fixture.host.serve(RpcHost.CURATOR, new AAAGrpc.AAAImplBase() {});
      Status after = RpcFixture.statusOf(() -> ask(fixture.asOwner()));
      assertEquals(Status.Code.UNAVAILABLE, after.getCode(), after::toString);
    }
  }

  private static RpcFixture holding(int calls, Duration time) {
    return new RpcFixture(
        usual -> RecordCopy.with(RecordCopy.with(usual, "heldCalls", calls), "holdTime", time));
  }
}
