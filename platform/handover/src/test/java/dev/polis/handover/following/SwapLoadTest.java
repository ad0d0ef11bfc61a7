package dev.polis.handover.following;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.ServiceRegistration;

/** Replaces a provider repeatedly while it is used at full speed. */
@Timeout(120)
final class SwapLoadTest {
  private static final int SWAPS = Integer.getInteger("polis.swaps", 200);
  private static final int CALLERS = 8;
  private static final int WATCHERS = 4;

  /** 50 µs, in nanoseconds. */
  private static final long PAUSE = 50_000;

  @TempDir Path folder;

  @Test
  @DisplayName(
      "swaps under load: no call fails, no watcher returns an older state or misses the newest")
  void nothingIsLost() throws Exception {
    try (TestFramework framework = new TestFramework(folder, TestFramework.generous())) {
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong counter = new AtomicLong();
      AtomicLong answered = new AtomicLong();
      LongAccumulator slowest = new LongAccumulator(Math::max, 0);
      Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
      List<Thread> threads = new ArrayList<>();
      AtomicLong[] seen = new AtomicLong[WATCHERS];

      Bundle present = framework.bundle("shelves", "1.0.0");
      TestShelf shelf = new TestShelf("a");
      shelf.label.set("0");
      ServiceRegistration<Shelf> registered = TestFramework.provide(present, shelf);
      Shelf proxy = framework.shelf();
      for (int i = 0; i < CALLERS; i++) {
        threads.add(
            Thread.startVirtualThread(
                () -> {
                  while (!over.get()) {
                    try {
                      long start = System.nanoTime();
                      proxy.read("x");
                      slowest.accumulate(System.nanoTime() - start);
                      answered.incrementAndGet();
                    } catch (Throwable e) {
                      failures.add(e);
                    }
                    // Acts as a caller that uses the answer: without this pause, the scheduler
                    // would be measured.
                    LockSupport.parkNanos(PAUSE);
                  }
                }));
      }
      for (int i = 0; i < WATCHERS; i++) {
        AtomicLong newest = seen[i] = new AtomicLong(-1);
        threads.add(Thread.startVirtualThread(() -> watch(proxy, newest, failures)));
      }

      List<Long> gaps = new ArrayList<>();
      for (int swap = 0; swap < SWAPS; swap++) {
        Bundle next = framework.bundle("shelves", "1.0." + (swap + 1));
        TestShelf successor = new TestShelf("a");
        successor.label.set(shelf.label.peek().orElseThrow());
        ServiceRegistration<Shelf> follows = TestFramework.provide(next, successor);
        long start = System.nanoTime();
        if (swap % 2 == 0) {
          try (ServiceSwap announced = framework.services().begin(present, next)) {
            announced.switchTo(next);
          }
          gaps.add(System.nanoTime() - start);
          registered.unregister();
        } else {
          registered.unregister();
          gaps.add(System.nanoTime() - start);
        }
        present.uninstall();
        successor.label.set(Long.toString(counter.incrementAndGet()));
        present = next;
        shelf = successor;
        registered = follows;
      }
      try {
        for (AtomicLong newest : seen) {
          Await.until("each watcher to see the newest", () -> newest.get() == counter.get());
        }
      } finally {
        over.set(true);
      }
      threads.forEach(Thread::interrupt);
      for (Thread thread : threads) {
        Await.end(thread);
      }
      assertEquals(List.of(), List.copyOf(failures));
      gaps.sort(null);
      System.out.printf(
          "%d swaps, %d calls, 0 failed; gap p50 %.2f ms p99 %.2f ms; slowest call %.1f ms%n",
          SWAPS,
          answered.get(),
          gaps.get(gaps.size() / 2) / 1e6,
          gaps.get(gaps.size() * 99 / 100) / 1e6,
          slowest.get() / 1e6);
    }
  }

  private static void watch(Shelf proxy, AtomicLong newest, Queue<Throwable> failures) {
    try (Watcher<String> watcher = proxy.label().watch()) {
      while (true) {
        long next = Long.parseLong(watcher.get());
        if (next <= newest.get()) {
          failures.add(new AssertionError("saw " + next + " after " + newest.get()));
        }
        newest.set(next);
      }
    } catch (InterruptedException e) {
      // The end of the test.
    } catch (Throwable e) {
      failures.add(e);
    }
  }

  @Test
  @DisplayName("a call through a proxy costs little more than a direct one")
  void aCallIsCheap() throws Exception {
    try (TestFramework framework = new TestFramework(folder, TestFramework.generous())) {
      Bundle provider = framework.bundle("shelves", "1.0.0");
      TestShelf shelf = new TestShelf("a");
      shelf.label.set("x");
      TestFramework.provide(provider, shelf);
      Shelf proxy = framework.shelf();
      nanos(proxy);
      nanos(shelf);
      double followed = nanos(proxy);
      double direct = nanos(shelf);
      System.out.printf("a call: %.1f ns by the proxy, %.1f ns without%n", followed, direct);
      // A thousand times the observed time on a busy machine.
      assertTrue(followed - direct < 100_000, "a call costs " + followed + " ns");
    }
  }

  private static double nanos(Shelf shelf) {
    int calls = 2_000_000;
    int sum = 0;
    long start = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      sum += shelf.size();
    }
    long time = System.nanoTime() - start;
    if (sum != calls) {
      throw new AssertionError("sum " + sum);
    }
    return (double) time / calls;
  }
}
