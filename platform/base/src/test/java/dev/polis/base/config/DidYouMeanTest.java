package dev.polis.base.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;

class DidYouMeanTest {

  private static final List<String> KNOWN = List.of("periodic", "periodical", "revision");

  @Test
  void closestWordIsSuggested() {
    assertEquals("; did you mean \"periodic\"?", DidYouMean.among("perodic", KNOWN));
    assertEquals("; did you mean \"periodical\"?", DidYouMean.among("PERIODICLA", KNOWN));
  }

  @Test
  void allWordsAreNamedIfNoneIsClose() {
    assertEquals("; there are periodic, periodical, revision", DidYouMean.among("off", KNOWN));
    assertEquals("; there is none at all", DidYouMean.among("off", List.of()));
  }

  @Test
  void wordAsLongAsMessageTakesNoMemory() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    String word = "p".repeat(4 << 20);
    DidYouMean.among("perodic", KNOWN);
    long before = threads.getCurrentThreadAllocatedBytes();
    assertEquals("; there are periodic, periodical, revision", DidYouMean.among(word, KNOWN));
    long taken = threads.getCurrentThreadAllocatedBytes() - before;
    assertTrue(taken < word.length(), () -> taken + " bytes for a word of " + word.length());
  }
}
