package dev.polis.base.values;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class MutableValueTest {
  /** Far longer than any test here; only a hang reaches it. */
  private static final Duration LONG = Duration.ofSeconds(10);

  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  @AfterEach
  void endThreads() {
    threads.shutdownNow();
  }

  @Test
  @DisplayName("EVT-01 a reader that slept through a hundred sets gets the last one")
  void evt01_latestWins() throws Exception {
    MutableValue<Integer> value = new MutableValue<>();
    try (Watcher<Integer> watcher = value.watch()) {
      value.set(0);
      assertEquals(0, watcher.get());

      for (int i = 1; i <= 100; i++) {
        value.set(i);
      }

      assertEquals(100, watcher.get());
      assertEquals(Optional.empty(), watcher.poll(), "nothing newer than 100 was set");
    }
  }

  @Test
  @DisplayName(
      "EVT-02 the second of two concurrent gets on one watcher is refused, and the first continues")
  void evt02_concurrentGetsAreRefused() throws Exception {
    MutableValue<String> value = new MutableValue<>();
    try (Watcher<String> watcher = value.watch()) {
      Future<String> first = threads.submit(() -> watcher.get());
      awaitWaiting(value, 1);

      IllegalStateException refused = assertThrows(IllegalStateException.class, watcher::get);
      assertThrows(IllegalStateException.class, watcher::poll);
      value.set("for the first");

      assertTrue(refused.getMessage().contains("one reader"), refused.getMessage());
      assertEquals("for the first", first.get(10, SECONDS));
    }
  }

  @Test
  @DisplayName(
      "EVT-03 a hundred watchers each see strictly increasing values that end with the last")
  void evt03_everyWatcherConverges() throws Exception {
    MutableValue<Integer> value = new MutableValue<>();
    List<Future<List<Integer>>> readers = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Watcher<Integer> watcher = value.watch();
      readers.add(threads.submit(() -> readUntil(watcher, 100)));
    }

    for (int i = 1; i <= 100; i++) {
      value.set(i);
      Thread.yield();
    }

    for (Future<List<Integer>> reader : readers) {
      List<Integer> seen = reader.get(10, SECONDS);
      assertEquals(seen.stream().sorted().distinct().toList(), seen, "not strictly increasing");
      assertEquals(100, seen.getLast());
    }
    assertEquals(0, value.waiting());
  }

  @Test
  @DisplayName("EVT-04 an interrupted get throws, and the next get on the watcher works")
  void evt04_interruptedGetLeavesWatcherUsable() throws Exception {
    MutableValue<String> value = new MutableValue<>();
    try (Watcher<String> watcher = value.watch()) {
      FutureTask<String> get = new FutureTask<>(watcher::get);
      Thread reader = Thread.startVirtualThread(get);
      awaitWaiting(value, 1);

      reader.interrupt();

      ExecutionException end = assertThrows(ExecutionException.class, () -> get.get(10, SECONDS));
      assertEquals(InterruptedException.class, end.getCause().getClass());
      value.set("after");
      assertEquals("after", watcher.get());
    }
  }

  @Test
  @DisplayName("EVT-04 a get interrupted before it begins loses no pending value")
  void evt04_interruptedBeforeGetLosesNothing() throws Exception {
    MutableValue<String> value = new MutableValue<>("pending");
    try (Watcher<String> watcher = value.watch()) {
      Thread.currentThread().interrupt();
      assertThrows(InterruptedException.class, watcher::get);

      assertEquals("pending", watcher.get());
    }
  }

  @Test
  @DisplayName("EVT-04 a get that times out names the newest value and leaves the watcher usable")
  void evt04_timedOutGetLeavesWatcherUsable() throws Exception {
    MutableValue<String> value = new MutableValue<>("old");
    try (Watcher<String> watcher = value.watch()) {
      watcher.get();

      TimeoutException timeout =
          assertThrows(TimeoutException.class, () -> watcher.get(Duration.ofMillis(1)));
      assertTrue(timeout.getMessage().contains("old"), timeout.getMessage());

      value.set("new");
      assertEquals("new", watcher.get(Duration.ZERO), "a value that is there needs no time");
    }
  }

  @Test
  @DisplayName("EVT-05 get returns the value that was set between watch and get")
  void evt05_setBetweenWatchAndGet() throws Exception {
    MutableValue<String> value = new MutableValue<>("first");
    try (Watcher<String> watcher = value.watch()) {
      value.set("second");

      assertEquals("second", watcher.get());
    }
  }

  @Test
  @DisplayName("EVT-06 ten thousand closed and reopened watchers leave nothing behind")
  void evt06_churnDoesNotLeak() throws Exception {
    MutableValue<Integer> value = new MutableValue<>();
    List<Watcher<Integer>> watchers = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      watchers.add(value.watch());
    }

    for (int i = 0; i < 10_000; i++) {
      int place = i % watchers.size();
      Watcher<Integer> old = watchers.get(place);
      Future<Integer> blocked = i % 10 == 0 ? get(value, old) : null;
      old.close();
      if (blocked != null) {
        assertClosed(blocked);
      }
      watchers.set(place, value.watch());
    }

    assertEquals(0, value.waiting(), "watchers the value still refers to");
    value.set(7);
    for (Watcher<Integer> watcher : watchers) {
      assertEquals(7, watcher.get(LONG));
    }
  }

  @Test
  @DisplayName("closing a watcher wakes the get that waits in it")
  void closeWakesGet() throws Exception {
    MutableValue<String> value = new MutableValue<>();
    Watcher<String> watcher = value.watch();
    Future<String> blocked = get(value, watcher);

    watcher.close();
    watcher.close();

    assertClosed(blocked);
    assertThrows(WatcherClosedException.class, watcher::get);
    assertThrows(WatcherClosedException.class, watcher::poll);
  }

  @Test
  @DisplayName("a predicate skips unwanted values, and its exception ends only that get")
  void predicate() throws Exception {
    MutableValue<Integer> value = new MutableValue<>(1);
    try (Watcher<Integer> watcher = value.watch()) {
      Future<Integer> three = threads.submit(() -> watcher.get(v -> v == 3));
      awaitWaiting(value, 1);
      value.set(2);
      value.set(3);
      assertEquals(3, three.get(10, SECONDS));

      value.set(4);
      assertThrows(
          ArithmeticException.class,
          () ->
              watcher.get(
                  v -> {
                    throw new ArithmeticException("from the predicate");
                  }));
      value.set(5);
      assertEquals(5, watcher.get());
    }
  }

  @Test
  @DisplayName("a predicate may set its own value: no lock is held")
  void predicateRunsWithoutLock() throws Exception {
    MutableValue<Integer> value = new MutableValue<>(1);
    try (Watcher<Integer> watcher = value.watch()) {
      int found =
          watcher.get(
              v -> {
                FutureTask<Boolean> other = new FutureTask<>(() -> value.set(v + 1), true);
                Thread.startVirtualThread(other);
                return join(other) && v == 4;
              },
              LONG);

      assertEquals(4, found);
    }
  }

  @Test
  @DisplayName("updates by many threads are not lost, and a failing update changes nothing")
  void updateIsAtomic() throws Exception {
    MutableValue<Integer> value = new MutableValue<>();
    List<Future<?>> updates = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      updates.add(threads.submit(() -> value.update(old -> old.orElse(0) + 1)));
    }
    for (Future<?> update : updates) {
      update.get(10, SECONDS);
    }

    assertThrows(
        ArithmeticException.class, () -> value.update(old -> old.get() / (old.get() - old.get())));

    assertEquals(Optional.of(1000), value.peek());
  }

  @Test
  @DisplayName("null is refused with a message, since absence is a state of its own")
  void nullIsRefused() {
    MutableValue<String> value = new MutableValue<>();

    NullPointerException refused = assertThrows(NullPointerException.class, () -> value.set(null));

    assertTrue(refused.getMessage().contains("absent"), refused.getMessage());
    assertFalse(value.peek().isPresent());
  }

  private static List<Integer> readUntil(Watcher<Integer> watcher, int last)
      throws InterruptedException {
    List<Integer> seen = new ArrayList<>();
    try (watcher) {
      do {
        seen.add(watcher.get());
      } while (seen.getLast() != last);
    }
    return seen;
  }

  /** Starts a get and waits until it blocks. */
  private <T> Future<T> get(MutableValue<T> value, Watcher<T> watcher) throws Exception {
    Callable<T> get = watcher::get;
    Future<T> blocked = threads.submit(get);
    awaitWaiting(value, 1);
    return blocked;
  }

  private static void assertClosed(Future<?> blocked) {
    ExecutionException end = assertThrows(ExecutionException.class, () -> blocked.get(10, SECONDS));
    assertEquals(WatcherClosedException.class, end.getCause().getClass());
  }

  private static boolean join(FutureTask<Boolean> task) {
    try {
      return task.get(10, SECONDS);
    } catch (Exception failed) {
      throw new AssertionError("the value stayed locked while a predicate ran", failed);
    }
  }

  private static void awaitWaiting(MutableValue<?> value, int watchers) {
    await(() -> value.waiting() == watchers, watchers + " watchers to wait in a get");
  }

  private static void await(BooleanSupplier condition, String what) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > LONG.toNanos()) {
        fail("waited " + LONG + " for " + what);
      }
      Thread.onSpinWait();
      Thread.yield();
    }
  }
}
