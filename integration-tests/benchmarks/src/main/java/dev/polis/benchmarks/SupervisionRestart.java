package dev.polis.benchmarks;

import dev.polis.base.boot.StopReason;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures the time from the failure of a healthy runnable to its next run, beside a bare virtual
 * thread that ends and is replaced by another one.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SupervisionRestart {

  private SupervisionTree tree;
  private ExecutorService threads;
  private Subtree organ;
  private CountDownLatch fail;
  private CountDownLatch again;
  private int name;

  /** Opens a tree. */
  @Setup
  public void open() {
    tree = SupervisionTree.open(LogTree.create());
    threads = Executors.newVirtualThreadPerTaskExecutor();
  }

  /** Ends it. */
  @TearDown
  public void close() {
    threads.shutdownNow();
    tree.close();
  }

  /** Starts a new runnable, whose first restart comes at once. */
  @Setup(Level.Invocation)
  public void run() throws InterruptedException {
    fail = new CountDownLatch(1);
    again = new CountDownLatch(1);
    CountDownLatch healthy = new CountDownLatch(1);
    boolean[] failed = new boolean[1];
    organ = tree.organ("organ" + name++);
    organ.run(
        "task",
        context -> {
          context.healthy();
          if (failed[0]) {
            again.countDown();
            context.awaitCancelled();
          }
          failed[0] = true;
          healthy.countDown();
          fail.await();
          throw new IllegalStateException("the benchmark makes it fail");
        });
    healthy.await();
  }

  /** Ends the runnable. */
  @TearDown(Level.Invocation)
  public void stop() {
    organ.close(StopReason.CODE_REPLACED);
  }

  /** Measures a supervised runnable. */
  @Benchmark
  public void supervised() throws InterruptedException {
    fail.countDown();
    again.await();
  }

  /** Measures a bare virtual thread. */
  @Benchmark
  public void virtualThread() throws InterruptedException {
    CountDownLatch second = new CountDownLatch(1);
    threads.execute(() -> threads.execute(second::countDown));
    second.await();
    // The runnable of this invocation ends with it.
    fail.countDown();
  }
}
