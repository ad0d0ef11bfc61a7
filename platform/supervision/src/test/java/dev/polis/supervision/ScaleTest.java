package dev.polis.supervision;

import static dev.polis.supervision.RunState.HEALTHY;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.MachineSpeed;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs many runnables, and measures how long a restart takes. */
@Timeout(60)
final class ScaleTest {

  @Test
  @DisplayName("ten thousand runnables start and stop, and leave no thread")
  void tenThousand() throws Exception {
    int many = 10_000;
    CountDownLatch healthy = new CountDownLatch(many);
    Queue<Thread> threads = new ConcurrentLinkedQueue<>();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      Subtree part = organ;
      long start = System.nanoTime();
      for (int i = 0; i < many; i++) {
        if (i % 1000 == 0) {
          part = organ.subtree("part-" + i / 1000);
        }
        part.run(
            "r-" + i,
            context -> {
              threads.add(Thread.currentThread());
              context.healthy();
              healthy.countDown();
              context.awaitCancelled();
            });
      }
      assertTrue(healthy.await(30, SECONDS), () -> healthy.getCount() + " are not healthy");
      long started = System.nanoTime();
      assertEquals(2 + 10 + many, world.statuses().size());

      assertEquals(0, organ.close(StopReason.CODE_REPLACED, Duration.ofSeconds(30)).size());
      long stopped = System.nanoTime();

      assertEquals(1, world.statuses().size());
      assertEquals(many, threads.size());
      assertFalse(threads.stream().anyMatch(Thread::isAlive), "threads outlived their subtree");
      System.out.printf(
          "10000 runnables: healthy after %d ms, stopped after %d ms%n",
          (started - start) / 1_000_000, (stopped - started) / 1_000_000);
    }
  }

  @Test
  @DisplayName("the restart after a healthy run is immediate")
  void firstRestartIsImmediate() throws Exception {
    int rounds = 101;
    long[] latencies = new long[rounds];
    LinkedBlockingQueue<Long> times = new LinkedBlockingQueue<>();
    MachineSpeed speed = MachineSpeed.measure();
    try (Supervised world = new Supervised()) {
      Subtree organ = world.tree.organ("foo");
      for (int i = 0; i < rounds; i++) {
        organ.run(
            "r-" + i,
            context -> {
              context.healthy();
              times.add(System.nanoTime());
              if (world.status(context.dn()).restarts() == 0) {
                times.add(System.nanoTime());
                throw new IOException("once");
              }
              context.awaitCancelled();
            });
        times.take();
        long died = times.take();
        latencies[i] = times.take() - died;
        world.awaitRestart("root.foo.r-" + i, 1, HEALTHY);
      }
    }
    Arrays.sort(latencies);
    long median = latencies[rounds / 2];
    System.out.printf(
        "first restart: median %d us, worst of %d %d us%n",
        median / 1000, rounds, latencies[rounds - 1] / 1000);
    // Uses the median, since a busy machine may delay any single one.
    speed.assertWithin("the median restart came", Duration.ofMillis(5), Duration.ofNanos(median));
  }
}
