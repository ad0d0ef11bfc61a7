package dev.polis.ctl.console;

import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** Keeps the last entries of the log of one part. Thread-safe. */
final class ConsoleLog {

  /** More entries than the tallest screen has lines. */
  private static final int KEPT = 500;

  /** A node that is away is asked again this often. */
  private static final Duration AGAIN = Duration.ofSeconds(1);

  private final ConsoleNode node;
  private final String part;
  private final Clock clock;
  private final Deque<LogEntry> entries = new ArrayDeque<>();

  /**
   * @param part the name in the supervision tree; empty for all
   */
  ConsoleLog(ConsoleNode node, String part, Clock clock) {
    this.node = node;
    this.part = part;
    this.clock = clock;
  }

  String part() {
    return part;
  }

  synchronized List<LogEntry> last() {
    return List.copyOf(entries);
  }

  /**
   * Follows the log until this thread is interrupted. While the node does not answer, the entries
   * stay, and one more says why.
   */
  void follow() throws InterruptedException {
    String before = "";
    while (true) {
      AtomicBoolean first = new AtomicBoolean(true);
      String why;
      try {
        why = node.follow(part, entry -> fresh(entry, first.getAndSet(false)));
      } catch (RuntimeException defect) {
        why = "the log cannot be read, for a defect of this program: " + defect;
      }
      if (!why.equals(before)) {
        LogPayload said = LogPayload.Leveled.of(Severity.WARNING, clock.instant(), "", why);
        add(new LogEntry("console", 0, said));
        before = why;
      }
      Thread.sleep(AGAIN);
    }
  }

  /** Adds an entry; a log that is read again begins with entries that are here already. */
  private synchronized boolean fresh(LogEntry entry, boolean first) {
    if (first) {
      entries.clear();
    }
    add(entry);
    return true;
  }

  private synchronized void add(LogEntry entry) {
    entries.addLast(entry);
    if (entries.size() > KEPT) {
      entries.removeFirst();
    }
  }
}
