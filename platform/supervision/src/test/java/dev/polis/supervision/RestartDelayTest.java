package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class RestartDelayTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();

  @Test
  @DisplayName("delays begin at 0.5 s, grow by half, and end at 60 s")
  void growsToItsLimit() {
    RestartDelay delay = new RestartDelay(() -> 0.5);

    assertEquals(SECOND / 2, delay.next(0));
    assertEquals(SECOND * 3 / 4, delay.next(0));
    for (int i = 0; i < 20; i++) {
      delay.next(0);
    }
    assertEquals(60 * SECOND, delay.next(0));
  }

  @Test
  @DisplayName("health makes the next restart immediate and the following delays short again")
  void reset() {
    RestartDelay delay = new RestartDelay(() -> 0.5);
    delay.next(0);
    delay.next(0);
    delay.next(0);

    delay.reset();

    assertEquals(0, delay.next(0));
    assertEquals(SECOND / 2, delay.next(0));
  }

  @Test
  @DisplayName("a runnable that is only healthy for a moment cannot restart in a tight loop")
  void oneImmediateRestartEachSecond() {
    RestartDelay delay = new RestartDelay(() -> 0.5);
    delay.reset();
    assertEquals(0, delay.next(5));
    delay.reset();
    assertEquals(SECOND / 2, delay.next(6));
    delay.reset();
    assertEquals(SECOND / 2, delay.next(5 + SECOND - 1));
    delay.reset();
    assertEquals(0, delay.next(5 + SECOND));
  }
}
