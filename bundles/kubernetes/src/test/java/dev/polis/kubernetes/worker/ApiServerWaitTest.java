package dev.polis.kubernetes.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Waits for API servers that are ready at once, later and never. */
class ApiServerWaitTest {

  @Test
  @DisplayName("a program waits until an API server is ready")
  void later() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    ApiServerWait wait = new ApiServerWait(() -> asked.incrementAndGet() == 3);

    assertTrue(wait.await());
    assertEquals(3, asked.get(), "it was asked again until it was ready, and not after");
  }

  @Test
  @DisplayName("the wait for an API server that is never ready ends after its time")
  void never() throws Exception {
    Duration longest = Duration.ofMillis(250);
    ApiServerWait wait = new ApiServerWait(() -> false, longest);
    long began = System.nanoTime();

    assertFalse(wait.await());
    assertTrue(System.nanoTime() - began >= longest.toNanos(), "the whole time was waited");
  }
}
