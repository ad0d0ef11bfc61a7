package dev.polis.handover.following;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.handover.SwapDeadline;
import dev.polis.plugins.PluginsConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Compares the deadlines of swaps where they are declared, used and documented. */
final class SwapDeadlinesTest {
  private static final Path PAGE =
      Path.of(System.getProperty("polis.repository")).resolve("docs/architecture.md");
  private static final String BEGIN = "<!-- swap deadlines: read by SwapDeadlinesTest -->\n";
  private static final String END = "<!-- swap deadlines: end -->";

  @Test
  @DisplayName("each wait of a swap ends before the waits that contain it")
  void theInnerEndsFirst() {
    for (SwapDeadline inner : SwapDeadline.values()) {
      for (SwapDeadline outer : inner.around()) {
        assertTrue(
            inner.limit().compareTo(outer.limit()) < 0,
            () -> "%s, %s, does not end before %s".formatted(inner, inner.limit(), outer));
      }
    }
  }

  @Test
  @DisplayName("waits that follow each other end before the wait that contains them all")
  void theSumEndsFirst() {
    // A bundle that is stopped: its turn, the return of its state, the calls under way on it.
    assertSumWithin(SwapDeadline.STOP, SwapDeadline.TURN, SwapDeadline.RETURN, SwapDeadline.DRAIN);
    // A return: prepare and give. Resume gets what is left.
    assertSumWithin(SwapDeadline.RETURN, SwapDeadline.HAND_OVER, SwapDeadline.HAND_OVER);
    // An instance that starts: its turn, the end of one before it, facts, take.
    assertSumWithin(
        SwapDeadline.START,
        SwapDeadline.TURN,
        SwapDeadline.TURN,
        SwapDeadline.HAND_OVER,
        SwapDeadline.HAND_OVER);
  }

  private static void assertSumWithin(SwapDeadline outer, SwapDeadline... inner) {
    Duration sum =
        Arrays.stream(inner).map(SwapDeadline::limit).reduce(Duration.ZERO, Duration::plus);
    assertTrue(
        sum.compareTo(outer.limit()) < 0,
        () -> "%s take %s and do not end before %s".formatted(Arrays.asList(inner), sum, outer));
  }

  @Test
  @DisplayName("the deadlines of the engine, of calls and of hand-overs agree with the table")
  void theTableIsUsed() throws Exception {
    assertEquals(SwapDeadline.GATE.limit(), configured("deadline_ms"));
    assertEquals(SwapDeadline.START.limit(), configured("start_ms"));
    assertEquals(SwapDeadline.STOP.limit(), configured("stop_ms"));
    assertEquals(SwapDeadline.HOLD.limit(), FollowingLimits.DEFAULT.hold());
    assertEquals(SwapDeadline.DRAIN.limit(), FollowingLimits.DEFAULT.drain());
  }

  private static Duration configured(String key) throws Exception {
    return Duration.ofMillis((Long) PluginsConfig.class.getMethod(key).getDefaultValue());
  }

  @Test
  @DisplayName("docs/architecture.md has the table of deadlines")
  void theTableIsWrittenDown() throws Exception {
    String page = Files.readString(PAGE);
    int from = page.indexOf(BEGIN) + BEGIN.length();
    String written = page.substring(from, page.indexOf(END));
    String table =
        Arrays.stream(SwapDeadline.values())
            .map(SwapDeadlinesTest::row)
            .collect(
                Collectors.joining(
                    "\n", "| wait | for | at most | inside |\n|---|---|---|---|\n", "\n"));
    assertEquals(table, written, PAGE + " has another table; this is the right one: " + table);
  }

  private static String row(SwapDeadline deadline) {
    String around =
        Arrays.stream(SwapDeadline.values())
            .filter(deadline.around()::contains)
            .map(SwapDeadline::name)
            .collect(Collectors.joining(" "));
    return "| %s | %s | %d s | %s |"
        .formatted(
            deadline,
            deadline.words(),
            deadline.limit().toSeconds(),
            around.isEmpty() ? "–" : around);
  }
}
