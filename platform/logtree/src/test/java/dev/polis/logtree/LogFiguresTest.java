package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.Locale;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Prints how fast the tree is on a core of this machine; asserts only that the work was done. */
class LogFiguresTest {
  private static final int ROUNDS = 5;
  private static final int LINES = 100_000;

  @Test
  @DisplayName("figures: appending lines")
  void appending() {
    LogTree tree = LogTree.create();
    Log log = tree.log("root.figures");
    RawLog raw = tree.raw("root.figures");
    var payload =
        LogPayload.Leveled.of(
            Severity.INFO, Instant.EPOCH, "Figures.java:1", "an entry made before");
    print("append a payload made before", i -> tree.append("root.figures", payload));
    print("raw line", i -> raw.line("a line of some usual length, as programs print"));
    print("leveled, constant text", i -> log.info("a message of some usual length"));
    print("leveled, two arguments", i -> log.info("node %s has %d volumes", "metropolis-1", i));
    print("leveled, deep stack (40 frames)", i -> deep(40, () -> log.info("from far below")));
    print("suppressed verbosity", i -> log.v(1).info("never seen %s", i));
    assertEquals(8192, tree.read(LogQuery.of("root.figures").backlogAll()).backlog().size());
  }

  @Test
  @DisplayName("figures: reading a tail among 1,000 journals")
  void tail() {
    LogTree tree = LogTree.create();
    for (int dn = 0; dn < 1000; dn++) {
      RawLog raw = tree.raw("root.organ" + dn);
      for (int i = 0; i < 200; i++) {
        raw.line("line " + i);
      }
    }
    LogQuery one = LogQuery.of("root.organ500").backlog(100);
    LogQuery all = LogQuery.of("root").withChildren().backlog(100);
    printTime("tail 100 of one name", () -> tree.read(one).backlog());
    printTime("tail 100 of all names", () -> tree.read(all).backlog());
    assertEquals(100, tree.read(all).backlog().size());
    assertTrue(tree.read(one).backlog().stream().allMatch(e -> e.dn().equals("root.organ500")));
  }

  private static void deep(int frames, Runnable action) {
    if (frames == 0) {
      action.run();
    } else {
      deep(frames - 1, action);
    }
  }

  private static void print(String what, IntConsumer action) {
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
      long start = cpuNanos();
      for (int i = 0; i < LINES; i++) {
        action.accept(i);
      }
      best = Math.max(best, LINES * 1e9 / (cpuNanos() - start));
    }
    System.out.printf(Locale.ROOT, "figure: %-34s %,12.0f lines/s%n", what, best);
  }

  private static void printTime(String what, Runnable action) {
    long best = Long.MAX_VALUE;
    for (int round = 0; round < 200; round++) {
      long start = cpuNanos();
      action.run();
      best = Math.min(best, cpuNanos() - start);
    }
    System.out.printf(Locale.ROOT, "figure: %-34s %12.3f ms%n", what, best / 1e6);
  }

  /** Time of this thread on a core, so that the figure does not depend on what else runs. */
  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }
}
