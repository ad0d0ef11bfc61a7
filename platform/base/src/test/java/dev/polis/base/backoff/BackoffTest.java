package dev.polis.base.backoff;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class BackoffTest {

  private static final Duration FIRST = Duration.ofMillis(500);
  private static final Duration LONGEST = Duration.ofSeconds(60);

  @Test
  @DisplayName("pauses grow by half from the first to the longest")
  void growsToItsLimit() {
    Backoff backoff = new Backoff(FIRST, LONGEST, () -> 0.5);
    List<Double> pauses = new ArrayList<>();
    for (int i = 0; i < 15; i++) {
      pauses.add(Math.round(backoff.next().toNanos() / 1e6) / 1e3);
    }

    assertEquals(
        List.of(
            0.5, 0.75, 1.125, 1.688, 2.531, 3.797, 5.695, 8.543, 12.814, 19.222, 28.833, 43.249,
            60.0, 60.0, 60.0),
        pauses);
  }

  @Test
  @DisplayName("chance changes a pause by half in both directions")
  void spread() {
    assertEquals(Duration.ofMillis(250), new Backoff(FIRST, LONGEST, () -> 0.0).next());
    assertEquals(Duration.ofMillis(750), new Backoff(FIRST, LONGEST, () -> 1.0).next());
    Backoff unpredictable = new Backoff(FIRST, FIRST);
    List<Duration> pauses = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      pauses.add(unpredictable.next());
    }
    assertTrue(pauses.stream().distinct().count() > 90, pauses::toString);
    assertTrue(
        pauses.stream().allMatch(pause -> pause.toMillis() >= 250 && pause.toMillis() <= 750),
        pauses::toString);
  }

  @Test
  @DisplayName("after a success the next pause is the first one again")
  void reset() {
    Backoff backoff = new Backoff(FIRST, LONGEST, () -> 0.5);
    backoff.next();
    backoff.next();

    backoff.reset();

    assertEquals(FIRST, backoff.next());
  }

  @Test
  @DisplayName("a pause waits for the computed time")
  void pause() throws InterruptedException {
    List<Duration> slept = new ArrayList<>();
    Backoff backoff = new Backoff(FIRST, LONGEST, () -> 0.5, slept::add);

    backoff.pause();
    backoff.pause();

    assertEquals(List.of(FIRST, Duration.ofMillis(750)), slept);
  }

  @Test
  @DisplayName("a first pause of zero, and a longest pause below the first, are refused")
  void nonsense() {
    assertThrows(IllegalArgumentException.class, () -> new Backoff(Duration.ZERO, LONGEST));
    assertThrows(IllegalArgumentException.class, () -> new Backoff(LONGEST, FIRST));
  }
}
