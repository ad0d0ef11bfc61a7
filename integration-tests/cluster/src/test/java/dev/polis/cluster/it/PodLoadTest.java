package dev.polis.cluster.it;

import static java.lang.Long.parseLong;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Checks that a load reports every request that a Service did not answer in time. */
class PodLoadTest {

  private static final Duration SOON = Duration.ofSeconds(30);

  /** Far more than the limit of a late answer on a slow machine; a request is given up at 30 s. */
  private static final Duration HELD = Duration.ofSeconds(20);

  private static final Pattern LATE = Pattern.compile("late at [0-9.]+ s: after ([0-9]+) ms");

  @FunctionalInterface
  private interface Check {
    void on(URI service) throws Exception;
  }

  /** Serves while a check runs; each answer waits until its turn. */
  private static void serve(Runnable turn, Check check) throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      HttpServer server =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.setExecutor(threads);
      server.createContext(
          "/",
          exchange -> {
            try (exchange) {
              turn.run();
              exchange.sendResponseHeaders(200, -1);
            }
          });
      server.start();
      try {
        check.on(URI.create("http://127.0.0.1:%d/".formatted(server.getAddress().getPort())));
      } finally {
        server.stop(0);
      }
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @DisplayName("requests that are not sent while a Service hangs, and late answers, are reported")
  void hangingService() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    serve(
        () -> await(released),
        service -> {
          try (PodLoad load = PodLoad.on(service)) {
            Await.until(SOON, "a request not to be sent", () -> load.faults() > 0);
            released.countDown();
            String said =
                assertThrows(AssertionError.class, () -> load.requireServed("a test")).getMessage();
            assertTrue(said.contains("dropped at"), said);
            // The hanging requests were answered after six seconds.
            assertTrue(said.matches("(?s).* [1-9][0-9]* of them late, .*"), said);
          } finally {
            released.countDown();
          }
        });
  }

  @Test
  @DisplayName("a late answer among many in time is reported, with its moment")
  void lateAnswer() throws Exception {
    AtomicLong first = new AtomicLong();
    CountDownLatch released = new CountDownLatch(1);
    MachineSpeed speed = MachineSpeed.measure();
    serve(
        () -> {
          if (first.compareAndSet(0, System.nanoTime())) {
            await(released);
          }
        },
        service -> {
          try (PodLoad load = PodLoad.on(service)) {
            Await.until(SOON, "a request to arrive", () -> first.get() != 0);
            // Twice the limit of this machine, or nearly the time at which a request is given up.
            Duration limit = speed.allowed(PodLoad.LATE).multipliedBy(2);
            long held = Math.min(limit.toNanos(), HELD.toNanos());
            Await.until(
                SOON, "one answer to be late", () -> System.nanoTime() - first.get() > held);
            released.countDown();
            String said =
                assertThrows(AssertionError.class, () -> load.requireServed("a test")).getMessage();
            assertTrue(said.matches("(?s).* [1-9][0-9]* of them late, .*"), said);
            // A busy machine answers others late, too.
            long longest =
                LATE.matcher(said)
                    .results()
                    .mapToLong(each -> parseLong(each.group(1)))
                    .max()
                    .orElse(0);
            assertTrue(longest * 1_000_000 >= held, said);
            assertEquals(0, load.faults(), said);
          } finally {
            released.countDown();
          }
        });
  }
}
