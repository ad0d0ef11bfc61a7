package dev.polis.benchmarks;

import dev.polis.logtree.Log;
import dev.polis.logtree.LogPlaces;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.RawLog;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.MemoryHandler;
import java.util.logging.StreamHandler;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures one line into a journal, beside java.util.logging into a ring of the same size. */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
public class LogAppend {

  /** The quota of a journal. */
  private static final int QUOTA = 8192;

  private static final String TEXT = "member serves client traffic on the address it was given";

  private Log log;
  private Log here;
  private RawLog raw;
  private Logger baseline;
  private int number;

  /** Makes journals and their counterpart. */
  @Setup
  public void open() {
    LogTree tree = LogTree.create();
    log = tree.log("root.bench");
    here = log.here();
    raw = tree.raw("root.bench.raw");
    baseline = Logger.getAnonymousLogger();
    baseline.setUseParentHandlers(false);
    baseline.addHandler(new MemoryHandler(new StreamHandler(), QUOTA, Level.OFF));
  }

  /** A leveled entry, with an argument to format and the place in the code. */
  @Benchmark
  public void leveled() {
    log.info("revision %d is applied", number++);
  }

  /** The same entry with a place that was determined before. */
  @Benchmark
  public void leveledHere() {
    here.info("revision %d is applied", number++);
  }

  /** The same entry in the form of a distribution's build, which inserts the place. */
  @Benchmark
  public void leveledPlaced() {
    LogPlaces.info(log, "revision %d is applied", new Object[] {number++}, "LogAppend.java:63");
  }

  /** A line of a child process. */
  @Benchmark
  public void rawLine() {
    raw.line(TEXT);
  }

  /** The same entry, which keeps its argument unformatted and finds no call site. */
  @Benchmark
  public void javaUtilLogging() {
    LogRecord entry = new LogRecord(Level.INFO, "revision {0} is applied");
    entry.setParameters(new Object[] {number++});
    baseline.log(entry);
  }

  /** The same line. */
  @Benchmark
  public void javaUtilLoggingLine() {
    baseline.log(new LogRecord(Level.INFO, TEXT));
  }
}
