package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class BackoffTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();

  @Test
  @DisplayName("delays grow by half from 0.5 s and end at 60 s")
  void growsToItsLimit() {
    Backoff backoff = new Backoff(() -> 0.5);
    List<Double> delays = new ArrayList<>();
    for (int i = 0; i < 15; i++) {
      delays.add(Math.round(backoff.next(0) / 1e6) / 1e3);
    }

    assertEquals(
        List.of(
            0.5, 0.75, 1.125, 1.688, 2.531, 3.797, 5.695, 8.543, 12.814, 19.222, 28.833, 43.249,
            60.0, 60.0, 60.0),
        delays);
  }

  @Test
  @DisplayName("chance moves a delay by half in both directions")
  void spread() {
    assertEquals(SECOND / 4, new Backoff(() -> 0.0).next(0));
    assertEquals(SECOND * 3 / 4, new Backoff(() -> 1.0).next(0));
  }

  @Test
  @DisplayName("health makes the next restart immediate and the following delays short again")
  void reset() {
    Backoff backoff = new Backoff(() -> 0.5);
    backoff.next(0);
    backoff.next(0);
    backoff.next(0);

    backoff.reset();

    assertEquals(0, backoff.next(0));
    assertEquals(SECOND / 2, backoff.next(0));
  }

  @Test
  @DisplayName("a runnable that is healthy for a moment only cannot restart in a tight loop")
  void oneImmediateRestartEachSecond() {
    Backoff backoff = new Backoff(() -> 0.5);
    backoff.reset();
    assertEquals(0, backoff.next(5));
    backoff.reset();
    assertEquals(SECOND / 2, backoff.next(6));
    backoff.reset();
    assertEquals(SECOND / 2, backoff.next(5 + SECOND - 1));
    backoff.reset();
    assertEquals(0, backoff.next(5 + SECOND));
  }
}
