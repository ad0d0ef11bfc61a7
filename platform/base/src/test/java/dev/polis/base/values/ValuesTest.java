package dev.polis.base.values;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class ValuesTest {
  private static final Duration LONG = Duration.ofSeconds(10);

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
    try (Watcher<String> watcher = new MutableValue<>("fixed").watch()) {
      assertEquals("fixed", watcher.get());
      assertEquals(Optional.empty(), watcher.poll());
    }
  }
}
