package dev.polis.logtree.component;

import dev.polis.logtree.Dn;
import dev.polis.logtree.LogBatch;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogFormat;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.io.PrintStream;
import java.util.Optional;

/** Prints entries as they come, on a thread of its own. */
final class ConsoleSink implements AutoCloseable {
  private final LogReader reader;
  private final ConsoleFilter filter;
  private final int columns;
  private final PrintStream terminal;
  private final Thread thread;

  private ConsoleSink(LogTree tree, ConsoleFilter filter, int columns, PrintStream terminal) {
    this.reader = tree.read(LogQuery.of(Dn.ROOT).withChildren().backlogAll().follow());
    this.filter = filter;
    this.columns = columns;
    this.terminal = terminal;
    this.thread = Thread.ofVirtual().name("log console").unstarted(this::run);
  }

  static ConsoleSink start(LogTree tree, ConsoleFilter filter, int columns, PrintStream terminal) {
    ConsoleSink sink = new ConsoleSink(tree, filter, columns, terminal);
    sink.thread.start();
    return sink;
  }

  /** Ends the thread after it has printed the earlier entries. */
  @Override
  public void close() {
    reader.close();
    try {
      thread.join();
    } catch (InterruptedException e) {
      // The closing thread does not wait; the printing thread ends, since its reader is closed.
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      reader.backlog().forEach(this::print);
      for (Optional<LogBatch> batch = reader.next(); batch.isPresent(); batch = reader.next()) {
        batch.get().entries().forEach(this::print);
        if (batch.get().missed() > 0) {
          terminal.println(
              "(" + batch.get().missed() + " log entries came too fast to be printed)");
        }
      }
    } catch (InterruptedException e) {
      // An interrupt also ends this thread, which does nothing else.
      Thread.currentThread().interrupt();
    }
  }

  private void print(LogEntry entry) {
    if (filter.admits(entry)) {
      terminal.println(columns == 0 ? LogFormat.full(entry) : LogFormat.concise(entry, columns));
    }
  }
}
