package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.polis.fixtures.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Checks that a load reports every request that a Service did not answer in time. */
class PodLoadTest {

  private static final Duration SOON = Duration.ofSeconds(30);

  @Test
  @DisplayName("requests that are not sent while a Service hangs, and late answers, are reported")
  void hangingService() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      HttpServer server =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.setExecutor(threads);
      server.createContext(
          "/",
          exchange -> {
            try (exchange) {
              released.await();
              exchange.sendResponseHeaders(200, -1);
            } catch (InterruptedException ending) {
              Thread.currentThread().interrupt();
            }
          });
      server.start();
      URI service = URI.create("http://127.0.0.1:%d/".formatted(server.getAddress().getPort()));
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
        server.stop(0);
      }
    }
  }
}
