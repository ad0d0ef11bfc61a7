package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RecordRoundsTest {

  private static final Duration SOON = Duration.ofSeconds(20);

  private final BlockingQueue<List<String>> begun = new LinkedBlockingQueue<>();
  private final Semaphore mayEnd = new Semaphore(0);
  private volatile Consumer<List<Guest>> work =
      guests -> guests.forEach(guest -> guest.answer("for " + guest.name));
  private final List<Thread> roundThreads = new CopyOnWriteArrayList<>();
  private final RecordRounds<Guest> rounds = new RecordRounds<>("rounds under test", this::round);

  private static final class Guest extends RecordRounds.Member<String> {
    private final String name;

    Guest(String name) {
      this.name = name;
    }
  }

  /** A caller on a thread of its own. */
  private final class Caller {
    private final CompletableFuture<String> got = new CompletableFuture<>();
    private final Thread thread;

    Caller(String name) {
      this.thread =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      Guest guest = new Guest(name);
                      rounds.join(guest);
                      got.complete(guest.await());
                    } catch (Throwable failure) {
                      got.completeExceptionally(failure);
                    }
                  });
    }

    /** Returns when the caller waits for its round. */
    Caller waiting() throws Exception {
      Await.until(SOON, "the caller to wait", () -> thread.getState() == Thread.State.WAITING);
      return this;
    }

    String answer() throws Exception {
      return got.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    Throwable failure() throws Exception {
      return got.handle((answer, failure) -> failure).get(SOON.toSeconds(), TimeUnit.SECONDS);
    }
  }

  private void round(List<Guest> guests) throws InterruptedException {
    roundThreads.add(Thread.currentThread());
    begun.add(guests.stream().map(guest -> guest.name).toList());
    mayEnd.acquire();
    work.accept(guests);
  }

  private List<String> nextRound() throws InterruptedException {
    List<String> names = begun.poll(SOON.toSeconds(), TimeUnit.SECONDS);
    assertTrue(names != null, "waited for a round to begin");
    return names;
  }

  /** Begins a round of one, in which the rounds stay until they may end it. */
  private Caller underWay() throws Exception {
    Caller first = new Caller("first");
    assertEquals(List.of("first"), nextRound());
    return first;
  }

  @AfterEach
  void close() throws Exception {
    rounds.close();
    Await.until(
        SOON,
        "the thread of the rounds to end",
        () -> roundThreads.stream().noneMatch(Thread::isAlive));
  }

  @Test
  void givenARoundUnderWay_thenWhoComesWaitsForTheNextOne() throws Exception {
    Caller first = underWay();
    Caller second = new Caller("second").waiting();
    Caller third = new Caller("third").waiting();

    mayEnd.release();

    assertEquals("for first", first.answer());
    assertEquals(List.of("second", "third"), nextRound());
    mayEnd.release();
    assertEquals("for second", second.answer());
    assertEquals("for third", third.answer());
  }

  @Test
  void givenMoreCallersThanARoundTakes_thenTheOthersAreInTheOneAfter() throws Exception {
    underWay();
    List<Caller> callers = new ArrayList<>();
    for (int i : IntStream.range(0, 100).toArray()) {
      callers.add(new Caller("" + i).waiting());
    }

    mayEnd.release(3);

    assertEquals(64, nextRound().size());
    assertEquals(36, nextRound().size());
    for (int i = 0; i < callers.size(); i++) {
      assertEquals("for " + i, callers.get(i).answer());
    }
  }

  @Test
  void givenACallerInterruptedBeforeItsRound_thenNothingIsDoneForIt() throws Exception {
    underWay();
    Caller gone = new Caller("gone").waiting();
    Caller stays = new Caller("stays").waiting();

    gone.thread.interrupt();

    assertEquals(InterruptedException.class, gone.failure().getClass());
    mayEnd.release(2);
    assertEquals(List.of("stays"), nextRound());
    assertEquals("for stays", stays.answer());
  }

  @Test
  void givenACallerInterruptedInItsRound_thenTheOthersAreAnswered() throws Exception {
    underWay();
    Caller gone = new Caller("gone").waiting();
    Caller stays = new Caller("stays").waiting();
    mayEnd.release();
    assertEquals(List.of("gone", "stays"), nextRound());

    gone.thread.interrupt();

    assertEquals(InterruptedException.class, gone.failure().getClass());
    mayEnd.release();
    assertEquals("for stays", stays.answer());
  }

  @Test
  void givenARoundThatFails_thenItsMembersAreToldAndTheNextIsServed() throws Exception {
    for (Throwable failure : List.of(new IllegalStateException("no"), new AssertionError("no"))) {
      work =
          guests -> {
            guests.getFirst().answer("settled before");
            switch (failure) {
              case RuntimeException unchecked -> throw unchecked;
              case Error error -> throw error;
              default -> throw new IllegalArgumentException(failure);
            }
          };
      Caller first = underWay();
      Caller second = new Caller("second").waiting();
      Caller third = new Caller("third").waiting();
      mayEnd.release(2);
      assertEquals(List.of("second", "third"), nextRound());

      assertEquals("settled before", first.answer());
      assertEquals("settled before", second.answer());
      assertSame(failure, third.failure());
      work = guests -> guests.forEach(guest -> guest.answer("well"));
      Caller next = new Caller("next");
      assertEquals(List.of("next"), nextRound());
      mayEnd.release();
      assertEquals("well", next.answer());
    }
  }

  @Test
  void givenClosed_thenWhoWaitsAndWhoComesIsSentToTheNextLeader() throws Exception {
    Caller first = underWay();
    Caller second = new Caller("second").waiting();

    rounds.close();

    assertUnavailable(first.failure());
    assertUnavailable(second.failure());
    assertUnavailable(assertThrows(RpcException.class, () -> rounds.join(new Guest("late"))));
    assertTrue(begun.isEmpty(), () -> "nothing begins any more, but did: " + begun);
  }

  private static void assertUnavailable(Throwable failure) {
    assertEquals(RpcException.class, failure.getClass(), failure.toString());
    assertEquals(Status.Code.UNAVAILABLE, ((RpcException) failure).code());
  }
}
