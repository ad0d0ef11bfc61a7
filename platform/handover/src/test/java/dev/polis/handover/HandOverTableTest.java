package dev.polis.handover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogTree;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class HandOverTableTest {

  private static final Duration SOON = Duration.ofSeconds(15);

  private final HandOverTable table = HandOverTable.open(LogTree.create(), SOON, SOON);

  /** A table for instances that hang: each call to them may take at most 200 ms. */
  private final HandOverTable hurried =
      HandOverTable.open(LogTree.create(), Duration.ofMillis(200), SOON);

  private static final Function<OrganInstance, Object> OWNER =
      instance -> ((Counter) instance).name;

  private final List<String> calls = Collections.synchronizedList(new ArrayList<>());

  /** Counts upwards, and hands over the count as its state. */
  private class Counter implements OrganInstance {
    private final String name;
    private volatile int count;
    private volatile Runnable close = () -> {};

    Counter(String name, OrganState state) {
      this.name = name;
      this.count = state.find("count", Integer.class).orElse(0);
    }

    @Override
    public OrganState facts() {
      return OrganState.NONE.with("name", name);
    }

    @Override
    public OrganState give() throws InterruptedException {
      calls.add(name + " gives");
      return OrganState.NONE.with("count", count);
    }

    @Override
    public void prepare() {
      calls.add(name + " prepares");
    }

    @Override
    public void resume(OrganState state) {
      calls.add(name + " resumes " + state);
      count = state.find("count", Integer.class).orElse(0);
    }

    @Override
    public void close(StopReason reason) {
      close.run();
    }
  }

  private HandOvers.Membership<Counter> join(String name) {
    return join(table, name);
  }

  private HandOvers.Membership<Counter> join(HandOverTable in, String name) {
    return join(in, state -> new Counter(name, state));
  }

  private static HandOvers.Membership<Counter> join(
      HandOverTable in, Function<OrganState, Counter> start) {
    return in.join("organ", predecessor -> start.apply(predecessor.take()));
  }

  @Test
  void theFirstInstanceHasNoPredecessor() {
    HandOvers.Membership<Counter> first =
        table.join(
            "organ",
            predecessor -> {
              assertFalse(predecessor.exists());
              assertTrue(predecessor.facts().isEmpty());
              return new Counter("first", predecessor.take());
            });
    assertEquals(0, first.instance().count);
    leave(first);
    assertEquals(List.of(), calls);
  }

  @Test
  void theSecondInstanceGoesOnFromTheState() {
    HandOvers.Membership<Counter> first = join("first");
    first.instance().count = 7;
    HandOvers.Membership<Counter> second =
        table.join(
            "organ",
            predecessor -> {
              assertEquals("first", predecessor.facts().require("name", String.class));
              return new Counter("second", predecessor.take());
            });
    assertEquals(7, second.instance().count);
    leave(first);
    leave(second);
    assertEquals(List.of("first gives"), calls);
  }

  @Test
  void instancesOfOtherOrgansAreNoPredecessors() {
    join("first");
    table.join(
        "another",
        predecessor -> {
          assertFalse(predecessor.exists());
          return new Counter("another", predecessor.take());
        });
  }

  @Test
  void theStateGoesBackIfTheSuccessorFailsToStart() {
    HandOvers.Membership<Counter> first = join("first");
    first.instance().count = 7;
    assertThrows(
        IllegalStateException.class,
        () ->
            table.join(
                "organ",
                predecessor -> {
                  predecessor.take();
                  throw new IllegalStateException("injected");
                }));
    assertEquals(List.of("first gives", "first prepares", "first resumes count"), calls);
    assertEquals(7, first.instance().count);
    assertEquals(7, join("third").instance().count);
  }

  @Test
  void aSuccessorThatFailsBeforeItTakesTheStateChangesNothing() {
    join("first");
    assertThrows(
        IllegalStateException.class,
        () ->
            table.join(
                "organ",
                predecessor -> {
                  throw new IllegalStateException("injected");
                }));
    assertEquals(List.of(), calls);
  }

  @Test
  void theStateGoesBackIfTheSuccessorLeavesFirst() {
    HandOvers.Membership<Counter> first = join("first");
    HandOvers.Membership<Counter> second = join("second");
    second.instance().count = 9;
    leave(second);
    leave(second);
    assertEquals(
        List.of("first gives", "first prepares", "second gives", "first resumes count"), calls);
    assertEquals(9, first.instance().count);
    leave(first);
    assertEquals(4, calls.size());
  }

  @Test
  void thePredecessorGoesOnFromNothingIfTheSuccessorCannotGiveTheStateBack() {
    HandOvers.Membership<Counter> first = join("first");
    HandOvers.Membership<Counter> second =
        table.join(
            "organ",
            predecessor ->
                new Counter("second", predecessor.take()) {
                  @Override
                  public OrganState give() {
                    throw new IllegalStateException("injected");
                  }
                });
    leave(second);
    assertEquals("first resumes nothing", calls.getLast());
    assertSame(first.instance(), first.instance());
  }

  @Test
  void aPredecessorThatThrowsStaysInChargeAndTheSuccessorDoesNotStart() {
    AtomicBoolean broken = new AtomicBoolean(true);
    HandOvers.Membership<Counter> first =
        table.join(
            "organ",
            predecessor ->
                new Counter("first", predecessor.take()) {
                  @Override
                  public OrganState give() throws InterruptedException {
                    if (broken.get()) {
                      throw new IllegalStateException("injected");
                    }
                    return super.give();
                  }
                });
    String refusal = assertThrows(HandOverException.class, () -> join("second")).getMessage();
    assertEquals(
        "the instance of organ that runs failed to give its state to the next: injected", refusal);
    broken.set(false);
    assertEquals(0, join("third").instance().count);
    leave(first);
  }

  @Test
  void aPredecessorThatHangsIsInterruptedAndStaysInCharge() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    hurried.join(
        "organ",
        predecessor ->
            new Counter("first", predecessor.take()) {
              @Override
              public OrganState give() throws InterruptedException {
                try {
                  new CountDownLatch(1).await();
                  return OrganState.NONE;
                } finally {
                  interrupted.countDown();
                }
              }
            });
    String refusal =
        assertThrows(HandOverException.class, () -> join(hurried, "second")).getMessage();
    assertTrue(refusal.contains("did not give its state to the next within 200 ms"), refusal);
    assertTrue(refusal.contains("stop it before the new one is started"), refusal);
    interrupted.await();
  }

  @Test
  void aStateThatComesTooLateGoesBackToWhoGaveIt() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    hurried.join(
        "organ",
        predecessor ->
            new Counter("first", predecessor.take()) {
              @Override
              public OrganState give() throws InterruptedException {
                while (released.getCount() > 0) {
                  try {
                    released.await();
                  } catch (InterruptedException refused) {
                    calls.add("interrupted");
                  }
                }
                return super.give();
              }
            });
    assertThrows(HandOverException.class, () -> join(hurried, "second"));
    String busy = assertThrows(HandOverException.class, () -> join(hurried, "third")).getMessage();
    assertTrue(busy.contains("still busy"), busy);
    released.countDown();
    Await.until(SOON, "the late state to go back", () -> calls.contains("first resumes count"));
  }

  @Test
  @Timeout(value = 5, unit = TimeUnit.SECONDS)
  void aPredecessorThatHasLeftIsNotAsked() {
    HandOvers.Membership<Counter> first = join("first");
    HandOvers.Membership<Counter> second =
        table.join(
            "organ",
            predecessor -> {
              leaveOnAnotherThread(first);
              assertFalse(predecessor.exists());
              return new Counter("second", predecessor.take());
            });
    assertEquals(List.of(), calls);
    leave(second);
  }

  private static void leave(HandOvers.Membership<Counter> membership) {
    membership.leave();
  }

  /** Ends a membership while closing does something. */
  private static void leave(HandOvers.Membership<? extends Counter> membership, Runnable close) {
    Counter instance = membership.instance();
    instance.close = close;
    membership.leave();
  }

  private static void leaveOnAnotherThread(HandOvers.Membership<Counter> membership) {
    try {
      Thread.ofVirtual().start(() -> leave(membership)).join();
    } catch (InterruptedException unexpected) {
      throw new IllegalStateException(unexpected);
    }
  }

  @Test
  @Timeout(value = 15, unit = TimeUnit.SECONDS)
  void withoutAPredecessorTheNextBeginsWhenTheLastIsClosed() throws Exception {
    HandOvers.Membership<Counter> first = join("first");
    CountDownLatch closing = new CountDownLatch(1);
    CountDownLatch mayClose = new CountDownLatch(1);
    Thread leaver =
        Thread.ofVirtual()
            .start(
                () ->
                    leave(
                        first,
                        () -> {
                          closing.countDown();
                          awaitQuietly(mayClose);
                          calls.add("first is closed");
                        }));
    closing.await();
    Thread comer =
        Thread.ofVirtual()
            .start(
                () ->
                    table.join(
                        "organ",
                        predecessor -> {
                          predecessor.take();
                          calls.add("second begins");
                          return new Counter("second", OrganState.NONE);
                        }));
    Await.until(SOON, "the second to wait", () -> comer.getState() == Thread.State.TIMED_WAITING);
    assertEquals(List.of(), calls);
    mayClose.countDown();
    Await.end(leaver);
    Await.end(comer);
    assertEquals(List.of("first is closed", "second begins"), calls);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException unexpected) {
      throw new IllegalStateException(unexpected);
    }
  }

  @Test
  @Timeout(value = 5, unit = TimeUnit.SECONDS)
  void aStateThatNobodyTakesAnyMoreIsClosed() {
    AtomicBoolean closed = new AtomicBoolean();
    HandOvers.Membership<Counter> first =
        table.join(
            "organ",
            predecessor ->
                new Counter("first", predecessor.take()) {
                  @Override
                  public OrganState give() {
                    return OrganState.NONE.with("socket", new Socket(closed));
                  }
                });
    assertThrows(
        IllegalStateException.class,
        () ->
            table.join(
                "organ",
                predecessor -> {
                  predecessor.take();
                  leaveOnAnotherThread(first);
                  throw new IllegalStateException("injected");
                }));
    assertTrue(closed.get());
    assertEquals(List.of(), calls);
  }

  /** Stands for something that must be closed. */
  private record Socket(AtomicBoolean closed) implements AutoCloseable {
    @Override
    public void close() {
      closed.set(true);
    }
  }

  @Test
  void aClassOfTheOrganItselfIsRefusedAndTheInstanceGoesOn() {
    table.join(
        "handover",
        predecessor ->
            new Counter("first", predecessor.take()) {
              @Override
              public OrganState give() {
                return OrganState.NONE.with("several", List.of(new Socket(new AtomicBoolean())));
              }
            });
    String refusal =
        assertThrows(
                HandOverException.class,
                () -> table.join("handover", predecessor -> new Counter("2", predecessor.take())))
            .getMessage();
    assertTrue(refusal.contains("gives \"several\" as a dev.polis.handover."), refusal);
    assertEquals("first resumes several", calls.getLast());
  }

  @Test
  void aValueOfAnotherTypeIsRefusedInWords() {
    OrganState state = OrganState.NONE.with("count", "seven");
    String refusal =
        assertThrows(HandOverException.class, () -> state.find("count", Integer.class))
            .getMessage();
    assertTrue(refusal.contains("gave \"count\" as a java.lang.String"), refusal);
    assertTrue(
        assertThrows(HandOverException.class, () -> state.require("more", Integer.class))
            .getMessage()
            .contains("did not give \"more\", only [count]"));
  }

  /** Leaves, on another thread, while it gets a state back. */
  private final class Leaving extends Counter {
    private final List<Thread> leavers = new ArrayList<>();
    private HandOvers.Membership<Leaving> seat; // null until it has joined

    Leaving() {
      super("leaving", OrganState.NONE);
    }

    @Override
    public void prepare() {
      Thread leaver =
          Thread.ofPlatform().start(() -> leave(seat, () -> calls.add("leaving is closed")));
      leavers.add(leaver);
      try {
        Await.until(
            SOON,
            "the one that leaves to wait, or to have left",
            () -> leaver.getState() != Thread.State.RUNNABLE);
      } catch (Exception failed) {
        throw new AssertionError(failed);
      }
    }

    void awaitLeft() throws InterruptedException {
      for (Thread leaver : leavers) {
        assertTrue(leaver.join(SOON), "it did not leave");
      }
    }
  }

  private Leaving joinLeaving() {
    Leaving leaving = new Leaving();
    leaving.seat = table.join("organ", predecessor -> leaving);
    return leaving;
  }

  @Test
  void anInstanceLeavesOnlyAfterItGotTheStateBackFromOneThatLeft() throws Exception {
    Leaving leaving = joinLeaving();
    var successor =
        table.join("organ", predecessor -> new Counter("successor", predecessor.take()));
    calls.clear();
    leave(successor);
    leaving.awaitLeft();
    assertEquals(List.of("successor gives", "leaving resumes count", "leaving is closed"), calls);
  }

  @Test
  void anInstanceLeavesOnlyAfterItGotTheStateBackFromOneThatFailed() throws Exception {
    Leaving leaving = joinLeaving();
    assertThrows(
        IllegalStateException.class,
        () ->
            table.join(
                "organ",
                predecessor -> {
                  predecessor.take();
                  calls.clear();
                  throw new IllegalStateException("a successor that fails");
                }));
    leaving.awaitLeft();
    assertEquals(List.of("leaving resumes count", "leaving is closed"), calls);
  }

  /** Returns states whose values fail when they are looked at. */
  static Stream<Arguments> statesThatFail() {
    List<?> deep = List.of();
    for (int level = 0; level < 100_000; level++) {
      deep = List.of(deep);
    }
    List<String> changing =
        new AbstractList<>() {
          @Override
          public String get(int index) {
            throw new ConcurrentModificationException("injected");
          }

          @Override
          public int size() {
            return 1;
          }
        };
    return Stream.of(
        Arguments.of("lists in lists without end", OrganState.NONE.with("value", deep)),
        Arguments.of("a list that changes meanwhile", OrganState.NONE.with("value", changing)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("statesThatFail")
  @DisplayName("an instance whose state fails when it is looked at decides again")
  void aStateThatFails(String what, OrganState given) {
    join(
        table,
        state ->
            new Counter("first", state) {
              @Override
              public OrganState give() {
                return given;
              }
            });
    assertThrows(HandOverException.class, () -> join("second"));
    assertEquals(List.of("first prepares", "first resumes value"), calls);
  }

  @Test
  @DisplayName("a state that is given too late by an instance that has left resumes nothing")
  void aLateStateOfOneThatHasLeft() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    AtomicBoolean closed = new AtomicBoolean();
    HandOvers.Membership<Counter> first =
        join(hurried, state -> new Deaf("first", state, released, closed));
    assertThrows(HandOverException.class, () -> join(hurried, "second"));
    leave(first);
    released.countDown();
    Await.until(SOON, "the late state to be closed", closed::get);
    assertEquals(List.of(), calls);
  }

  @Test
  @DisplayName("an instance that leaves and gives its state back too late does not decide again")
  void aStateThatComesBackTooLate() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    AtomicBoolean closed = new AtomicBoolean();
    join(hurried, "first");
    HandOvers.Membership<Counter> second =
        join(hurried, state -> new Deaf("second", state, released, closed));
    leave(second);
    released.countDown();
    Await.until(SOON, "the late state to be closed", closed::get);
    assertEquals(List.of("first gives", "first prepares", "first resumes nothing"), calls);
  }

  /** Gives a socket as its state when it is released, whatever interrupts it. */
  private final class Deaf extends Counter {
    private final CountDownLatch released;
    private final AtomicBoolean closed;

    Deaf(String name, OrganState state, CountDownLatch released, AtomicBoolean closed) {
      super(name, state);
      this.released = released;
      this.closed = closed;
    }

    @Override
    public OrganState give() {
      awaitDeaf(released);
      return OrganState.NONE.with("socket", new Socket(closed));
    }
  }

  private static void awaitDeaf(CountDownLatch latch) {
    while (latch.getCount() > 0) {
      try {
        latch.await();
      } catch (InterruptedException ignored) {
        // The instance of this test is one that does not listen.
        continue;
      }
    }
  }

  @Test
  @DisplayName("an instance that prepares too long gets its state when it has prepared")
  void aPreparationThatTakesTooLong() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    HandOvers.Membership<Counter> first =
        join(
            hurried,
            state ->
                new Counter("first", state) {
                  @Override
                  public void prepare() {
                    awaitDeaf(released);
                    super.prepare();
                  }
                });
    first.instance().count = 7;
    HandOvers.Membership<Counter> second = join(hurried, "second");
    second.instance().count = 9;
    leave(second);
    released.countDown();
    Await.until(SOON, "the first to decide again", () -> first.instance().count == 9);
    assertEquals("first resumes count", calls.getLast());
  }

  /** Hangs in each call of a state's return until it is released, whatever interrupts it. */
  private final class DeafInAll extends Counter {
    private final CountDownLatch asked;
    private final CountDownLatch released;

    DeafInAll(String name, OrganState state, CountDownLatch asked, CountDownLatch released) {
      super(name, state);
      this.asked = asked;
      this.released = released;
    }

    @Override
    public OrganState give() throws InterruptedException {
      if (asked.getCount() == 0) {
        awaitDeaf(released);
      }
      return super.give();
    }

    @Override
    public void prepare() {
      asked.countDown();
      awaitDeaf(released);
    }

    @Override
    public void resume(OrganState state) {
      awaitDeaf(released);
    }
  }

  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS)
  @DisplayName("an instance gets its turn although a return before it hangs in each of its calls")
  void aReturnThatHangs() throws Exception {
    HandOverTable real = HandOverTable.open(LogTree.create());
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    join(real, state -> new DeafInAll("first", state, asked, released));
    HandOvers.Membership<Counter> second =
        join(real, state -> new DeafInAll("second", state, asked, released));
    Thread leaver = Thread.ofVirtual().start(() -> leave(second));
    assertTrue(asked.await(SOON.toSeconds(), TimeUnit.SECONDS), "the first was not asked");

    HandOvers.Membership<Counter> third =
        real.join("organ", predecessor -> new Counter("third", OrganState.NONE));

    Await.end(leaver);
    released.countDown();
    leave(third);
  }

  @Test
  @DisplayName("an instance that leaves is closed although a listener fails with an error")
  void aListenerFails() {
    table.add(
        new HandOverListener() {
          @Override
          public void gives(String organ) {
            throw new NoClassDefFoundError("injected");
          }

          @Override
          public void resumes(String organ) {
            throw new NoClassDefFoundError("injected");
          }
        });
    HandOvers.Membership<Counter> first = join("first");
    HandOvers.Membership<Counter> second = join("second");
    leave(second, () -> calls.add("second is closed"));
    assertEquals("second is closed", calls.getLast());
    leave(first);
  }

  @Test
  @DisplayName("a state goes back from an instance that hangs in its start, and others may follow")
  void aStartThatHangs() throws Exception {
    HandOverTable brief = HandOverTable.open(LogTree.create(), SOON, Duration.ofMillis(100));
    CountDownLatch released = new CountDownLatch(1);
    HandOvers.Membership<Counter> first = join(brief, "first");
    first.instance().count = 7;
    FutureTask<String> hanging =
        new FutureTask<>(
            () ->
                assertThrows(
                        HandOverException.class,
                        () ->
                            join(
                                brief,
                                state -> {
                                  awaitDeaf(released);
                                  Counter late = new Counter("second", state);
                                  late.close = () -> calls.add("second is closed");
                                  return late;
                                }))
                    .getMessage());
    Thread.ofVirtual().start(hanging);
    Await.until(SOON, "the first to decide again", () -> calls.contains("first resumes count"));

    HandOvers.Membership<Counter> third = join(brief, "third");
    assertEquals(7, third.instance().count);
    calls.clear();
    released.countDown();
    String refusal = hanging.get(SOON.toSeconds(), TimeUnit.SECONDS);
    assertTrue(refusal.contains("its state went back"), refusal);
    assertEquals(
        List.of("second gives", "second is closed"),
        calls,
        "the instance that came too late decides nothing");
    leave(third);
    assertEquals("first resumes count", calls.getLast());
  }

  @Test
  @DisplayName("an instance whose bundle stops without leaving gives the state back, and is closed")
  void aBundleThatStops() {
    HandOverTable owned = HandOverTable.open(LogTree.create(), () -> StopReason.POWER_OFF, OWNER);
    HandOvers.Membership<Counter> first = join(owned, "first");
    HandOvers.Membership<Counter> second = join(owned, "second");
    second.instance().count = 7;
    second.instance().close = () -> calls.add("second is closed");
    calls.clear();

    owned.stopped("second");

    assertEquals(
        List.of("first prepares", "second gives", "first resumes count", "second is closed"),
        calls);
    assertEquals(7, first.instance().count);
    leave(second);
    owned.stopped("second");
    assertEquals(4, calls.size(), "it is closed once");
  }

  @Test
  @DisplayName(
      "an instance that fails to close after its bundle stopped keeps no other from leaving")
  void failsToClose() {
    HandOverTable owned = HandOverTable.open(LogTree.create(), () -> StopReason.POWER_OFF, OWNER);
    HandOvers.Membership<Counter> first = join(owned, "first");
    HandOvers.Membership<Counter> second = join(owned, "second");
    second.instance().close =
        () -> {
          throw new IllegalStateException("injected");
        };
    HandOvers.Membership<Counter> other =
        owned.join("another", predecessor -> new Counter("second", predecessor.take()));
    other.instance().close = () -> calls.add("the other is closed");

    owned.stopped("second");

    assertTrue(
        calls.containsAll(List.of("first resumes count", "the other is closed")), calls::toString);
    leave(first);
  }

  @Test
  @DisplayName("two organs of one bundle do not close each other")
  void twoOrgansOfABundle() {
    HandOverTable owned = HandOverTable.open(LogTree.create(), () -> StopReason.POWER_OFF, OWNER);
    HandOvers.Membership<Counter> one = join(owned, "same");
    one.instance().close = () -> calls.add("closed");

    owned.join("another", predecessor -> new Counter("same", predecessor.take()));

    assertEquals(List.of(), calls);
    leave(one);
    assertEquals(List.of("closed"), calls);
  }

  /** An exception whose text cannot be made. */
  private static final class Unreadable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new IllegalStateException("injected");
    }
  }

  @Test
  @DisplayName("the state goes back although the text of the new instance's failure cannot be made")
  void unreadableFailure() {
    HandOvers.Membership<Counter> first = join("first");
    first.instance().count = 7;

    assertThrows(
        Unreadable.class,
        () ->
            join(
                table,
                state -> {
                  throw new Unreadable();
                }));

    assertEquals("first resumes count", calls.getLast());
    assertEquals(7, first.instance().count);
    leave(first);
  }

  @Test
  @DisplayName("an instance resumes although the text of the other's failure cannot be made")
  void unreadableFailureOfGiving() {
    HandOvers.Membership<Counter> first = join("first");
    HandOvers.Membership<Counter> second =
        join(
            table,
            state ->
                new Counter("second", state) {
                  @Override
                  public OrganState give() {
                    throw new Unreadable();
                  }
                });

    leave(second);

    assertEquals("first resumes nothing", calls.getLast());
    leave(first);
  }

  @Test
  @DisplayName("a bundle that joins again closes its instance whose component failed")
  void joinsAgain() {
    HandOverTable owned = HandOverTable.open(LogTree.create(), () -> StopReason.POWER_OFF, OWNER);
    HandOvers.Membership<Counter> failed = join(owned, "same");
    failed.instance().count = 7;
    failed.instance().close = () -> calls.add("the failed one is closed");

    HandOvers.Membership<Counter> again = join(owned, "same");

    assertEquals(List.of("same gives", "the failed one is closed"), calls);
    assertEquals(7, again.instance().count);
    leave(again);
    HandOvers.Membership<Counter> next =
        owned.join(
            "organ",
            predecessor -> {
              assertFalse(predecessor.exists(), "the failed one is in charge again");
              return new Counter("next", predecessor.take());
            });
    leave(next);
  }

  @ParameterizedTest(name = "that gave its state to the {0}")
  @ValueSource(strings = {"next", "previous"})
  @Timeout(value = 10, unit = TimeUnit.SECONDS)
  @DisplayName("an instance that hangs in its end, and has given its state, delays no later one")
  void anEndThatHangs(String other) throws Exception {
    HandOvers.Membership<Counter> first = join("first");
    HandOvers.Membership<Counter> second = join("second");
    HandOvers.Membership<Counter> hanging = other.equals("next") ? first : second;
    CountDownLatch closing = new CountDownLatch(1);
    CountDownLatch mayClose = new CountDownLatch(1);
    Thread leaver =
        Thread.ofVirtual()
            .start(
                () ->
                    leave(
                        hanging,
                        () -> {
                          closing.countDown();
                          awaitQuietly(mayClose);
                        }));
    closing.await();
    leave(hanging == first ? second : first);

    HandOvers.Membership<Counter> third = join("third");

    assertEquals(0, third.instance().count);
    mayClose.countDown();
    Await.end(leaver);
  }

  @Test
  void ofManyInstancesThatComeAndGoOneIsInChargeAtATime() throws Exception {
    AtomicInteger inCharge = new AtomicInteger();
    ConcurrentHashMap<String, Boolean> trouble = new ConcurrentHashMap<>();
    class Exclusive implements OrganInstance {
      private volatile boolean mine;

      Exclusive take() {
        if (inCharge.incrementAndGet() > 1) {
          trouble.put("two in charge", true);
        }
        mine = true;
        return this;
      }

      @Override
      public void close(StopReason reason) {
        if (mine) {
          mine = false;
          inCharge.decrementAndGet();
        }
      }

      @Override
      public OrganState give() {
        close(StopReason.CODE_REPLACED);
        return OrganState.NONE;
      }

      @Override
      public void resume(OrganState state) {
        take();
      }
    }
    HandOverTable patient = HandOverTable.open(LogTree.create());
    try (ExecutorService threads = new TestThreads()) {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        all.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 25; i++) {
                    HandOvers.Membership<Exclusive> here =
                        patient.join(
                            "organ",
                            predecessor -> {
                              predecessor.take();
                              return new Exclusive().take();
                            });
                    here.leave();
                  }
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
    }
    assertEquals(Map.of(), trouble);
    assertEquals(0, inCharge.get());
  }
}
