package dev.polis.event;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class ValuesTest {
  private static final Duration LONG = Duration.ofSeconds(10);

  @Test
  @DisplayName("an await that is not fulfilled names the awaited condition and the last state seen")
  void awaitNamesWhatItWaitedFor() {
    MutableValue<String> state = new MutableValue<>("FOREIGN");

    TimeoutException timeout =
        assertThrows(
            TimeoutException.class,
            () ->
                Values.await(
                    state, "HOME"::equals, Duration.ofMillis(5), "the cluster to be home"));

    assertEquals(
        "waited 0.005 s for the cluster to be home; last seen: FOREIGN", timeout.getMessage());
  }

  @Test
  @DisplayName("an await on a value that was never set reports it")
  void awaitOnNothing() {
    TimeoutException timeout =
        assertThrows(
            TimeoutException.class,
            () -> Values.await(new MutableValue<>(), v -> true, Duration.ZERO, "an address"));

    assertTrue(timeout.getMessage().contains("no value was ever set"), timeout.getMessage());
  }

  @Test
  @DisplayName("an await returns the state that fulfils it, the present one included")
  void awaitReturnsTheState() throws Exception {
    MutableValue<Integer> state = new MutableValue<>(1);
    assertEquals(1, Values.await(state, v -> v == 1, LONG, "one"));

    Thread setter =
        Thread.startVirtualThread(
            () -> {
              for (int i = 2; i <= 50; i++) {
                state.set(i);
              }
            });

    assertEquals(50, Values.await(state, v -> v == 50, LONG, "fifty"));
    assertTrue(setter.join(LONG));
    assertEquals(0, state.waiting());
  }

  @Test
  @DisplayName("a mapped value maps once for each get and closes its source's watcher")
  void mapped() throws Exception {
    MutableValue<Integer> source = new MutableValue<>();
    AtomicInteger calls = new AtomicInteger();
    Value<String> mapped =
        Values.map(
            source,
            v -> {
              calls.incrementAndGet();
              return "<" + v + ">";
            });
    assertEquals(Optional.empty(), mapped.peek());

    Watcher<String> watcher = mapped.watch();
    source.set(1);
    assertEquals("<1>", watcher.get());
    assertEquals(1, calls.get());
    source.set(2);
    assertEquals("<2>", watcher.get("<2>"::equals, LONG));
    assertEquals(Optional.empty(), watcher.poll());
    assertEquals(Optional.of("<2>"), mapped.peek());
    watcher.close();

    assertThrows(WatcherClosedException.class, watcher::get);
  }

  @Test
  @DisplayName("following passes on each state until the follower ends it, and closes its watcher")
  void follow() {
    MutableValue<Integer> source = new MutableValue<>(0);
    List<Integer> seen = new ArrayList<>();

    IllegalStateException end =
        assertThrows(
            IllegalStateException.class,
            () ->
                Values.follow(
                    source,
                    v -> {
                      seen.add(v);
                      if (v == 3) {
                        throw new IllegalStateException("enough");
                      }
                      source.set(v + 1);
                    }));

    assertEquals("enough", end.getMessage());
    assertEquals(List.of(0, 1, 2, 3), seen);
  }

  @Test
  @DisplayName("a constant is available at once and only once")
  void constant() throws Exception {
    try (Watcher<String> watcher = Values.constant("fixed").watch()) {
      assertEquals("fixed", watcher.get());
      assertEquals(Optional.empty(), watcher.poll());
    }
  }
}
