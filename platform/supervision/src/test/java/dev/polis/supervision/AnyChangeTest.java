package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Follows several values with one call. */
class AnyChangeTest {

  private final MutableValue<Integer> first = new MutableValue<>(0);
  private final MutableValue<Integer> second = new MutableValue<>(0);
  private final List<String> seen = new CopyOnWriteArrayList<>();

  private void follow(Supervised world, Duration pause) throws Exception {
    world
        .tree
        .organ("storage")
        .run(
            "following",
            context -> {
              AnyChange.follow(
                  context,
                  Map.of("first", first, "second", second),
                  pause,
                  () -> seen.add(first.peek().orElseThrow() + "," + second.peek().orElseThrow()));
              context.healthy();
              context.awaitCancelled();
            });
    Await.until("a call for each value", () -> seen.size() >= 2);
  }

  @Test
  @DisplayName("each value calls back at first and after its changes, and the last state is seen")
  void eachValue() throws Exception {
    try (Supervised world = new Supervised()) {
      follow(world, Duration.ZERO);
      first.set(1);
      Await.until("a call for the first value", () -> seen.getLast().equals("1,0"));
      second.set(1);
      Await.until("a call for the second value", () -> seen.getLast().equals("1,1"));
    }
  }

  @Test
  @DisplayName("with a pause, a thousand changes cost a few calls, and the last state is seen")
  void pause() throws Exception {
    try (Supervised world = new Supervised()) {
      Duration pause = Duration.ofMillis(50);
      follow(world, pause);
      int before = seen.size();
      long began = System.nanoTime();
      for (int change = 1; change <= 1_000; change++) {
        first.set(change);
        second.set(change);
      }
      Await.until("a call for the last state", () -> seen.getLast().equals("1000,1000"));
      long took = System.nanoTime() - began;
      // A call may wait at the begin of the changes, and both values may call for the last state.
      long most = took / pause.toNanos() + 3;
      int calls = seen.size() - before;
      assertTrue(calls <= most, () -> calls + " calls in " + took / 1_000_000 + " ms");
      assertEquals("1000,1000", seen.getLast());
    }
  }
}
