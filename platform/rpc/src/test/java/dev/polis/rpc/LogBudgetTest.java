package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LogBudgetTest {

  /** An exception as the JVM throws it again and again: without a stack. */
  private static final class Stackless extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Stackless() {
      super("no stack", null, false, false);
    }
  }

  @Test
  @DisplayName("an unforeseen exception is logged with its place, and without one if it has none")
  void unforeseen() {
    LogTree logs = LogTree.create();
    LogBudget budget = LogBudget.ofRefusals();
    budget.warn(logs.log("test"), "refused", new IllegalStateException("odd"));
    budget.warn(logs.log("test"), "refused", new Stackless());

    List<String> lines;
    try (LogReader reader = logs.read(LogQuery.of("test").backlogAll())) {
      lines =
          reader.backlog().stream()
              .map(entry -> ((LogPayload.Leveled) entry.payload()).message())
              .toList();
    }
    assertTrue(
        lines.getFirst().startsWith("refused: java.lang.IllegalStateException: odd at dev.polis."),
        lines::toString);
    assertEquals("refused: " + Stackless.class.getName() + ": no stack", lines.getLast());
  }
}
