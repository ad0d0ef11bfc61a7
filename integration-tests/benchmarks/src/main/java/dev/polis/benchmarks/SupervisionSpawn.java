package dev.polis.benchmarks;

import dev.polis.logtree.LogTree;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
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

/** Starts ten thousand runnables until all are HEALTHY, beside as many bare virtual threads. */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SupervisionSpawn {

  private static final int COUNT = 10_000;

  /** A node of the tree takes this many children; the rest goes into further ones. */
  private static final int SIBLINGS = 1000;

  private SupervisionTree tree;
  private List<Subtree> branches;
  private CountDownLatch end;

  /** Opens an empty tree. */
  @Setup(Level.Invocation)
  public void open() {
    tree = SupervisionTree.open(LogTree.create());
    branches = new ArrayList<>();
    for (int i = 0; i < COUNT / SIBLINGS; i++) {
      branches.add(tree.organ("organ" + i));
    }
    end = new CountDownLatch(1);
  }

  /** Ends all runnables. */
  @TearDown(Level.Invocation)
  public void close() {
    end.countDown();
    tree.close();
  }

  /** Measures supervised runnables. */
  @Benchmark
  public void runnables() throws InterruptedException {
    CountDownLatch healthy = new CountDownLatch(COUNT);
    for (Subtree branch : branches) {
      for (int i = 0; i < SIBLINGS; i++) {
        branch.run(
            "task" + i,
            context -> {
              context.healthy();
              healthy.countDown();
              context.awaitCancelled();
            });
      }
    }
    healthy.await();
  }

  /** Measures bare virtual threads. */
  @Benchmark
  public void virtualThreads() throws InterruptedException {
    CountDownLatch running = new CountDownLatch(COUNT);
    for (int i = 0; i < COUNT; i++) {
      Thread.startVirtualThread(
          () -> {
            running.countDown();
            awaitEnd();
          });
    }
    running.await();
  }

  private void awaitEnd() {
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
