package dev.polis.benchmarks;

import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Measures reading the newest hundred entries of one journal, or of a small subtree, among many
 * journals.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LogTail {

  private static final int ENTRIES = 100;

  /** The number of journals. */
  @Param({"1", "1000"})
  public int journals;

  private LogTree tree;

  /** Fills the journals. */
  @Setup
  public void fill() {
    tree = LogTree.create();
    for (int line = 0; line < ENTRIES; line++) {
      for (int journal = 0; journal < journals; journal++) {
        tree.log("root.organ" + journal + ".task").info("line %d", line);
      }
    }
  }

  /** Reads one DN. */
  @Benchmark
  public List<LogEntry> oneDn() {
    return read(LogQuery.of("root.organ0.task").backlog(ENTRIES));
  }

  /** Reads one DN and its subtree. */
  @Benchmark
  public List<LogEntry> subtree() {
    return read(LogQuery.of("root.organ0").withChildren().backlog(ENTRIES));
  }

  private List<LogEntry> read(LogQuery query) {
    try (LogReader reader = tree.read(query)) {
      return reader.backlog();
    }
  }
}
