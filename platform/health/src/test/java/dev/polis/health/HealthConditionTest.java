package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HealthConditionTest {
  @ParameterizedTest
  @ValueSource(strings = {" ", "\n", "\t\n", "x", "; caused by ", "Possible reasons:", "A.a"})
  @DisplayName("a text of any length becomes a short condition at once")
  void longTexts(String piece) {
    String text = "begin" + piece.repeat(100_000) + "end";

    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long begun = threads.getCurrentThreadCpuTime();
    HealthCondition made = HealthCondition.down("broken", text, text);
    Duration took = Duration.ofNanos(threads.getCurrentThreadCpuTime() - begun);

    // Of processor time, so that other programs do not count.
    assertTrue(took.compareTo(Duration.ofSeconds(1)) < 0, () -> "it took " + took);

    assertTrue(made.reason().startsWith("begin"), made::reason);
    assertTrue(made.reason().endsWith("…"), made::reason);
    assertTrue(made.reason().length() <= 2000, made::reason);
    assertTrue(made.remedy().length() <= 2000, made::remedy);
    assertEquals(made, made.at(HealthLevel.DOWN), "a copy is cut at the same place");
  }

  @Test
  @DisplayName("a text of 2,000 characters is kept")
  void keptText() {
    String text = "x".repeat(2000);

    assertEquals(text, HealthCondition.down("broken", text, "").reason());
  }
}
