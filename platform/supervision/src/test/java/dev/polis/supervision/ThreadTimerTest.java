package dev.polis.supervision;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.backoff.Uninterrupted;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class ThreadTimerTest {
  private final BlockingQueue<String> rung = new LinkedBlockingQueue<>();

  @Test
  @DisplayName(
      "alarms run in order of their times, not of their making, and cancelled ones do not run")
  void order() throws Exception {
    try (Timer timer = new ThreadTimer(failure -> rung.add("failure: " + failure.getMessage()))) {
      // Holds the timer's thread until all alarms exist, so that times count from one start, also
      // on a slow machine.
      CountDownLatch prepared = new CountDownLatch(1);
      timer.schedule(0, () -> Uninterrupted.await(prepared, Duration.ofSeconds(10)));
      long start = timer.nanos();
      timer.schedule(start + 60_000_000 - timer.nanos(), () -> rung.add("third"));
      Timer.Alarm never =
          timer.schedule(start + 30_000_000 - timer.nanos(), () -> rung.add("never"));
      timer.schedule(
          start + 40_000_000 - timer.nanos(),
          () -> {
            throw new IllegalStateException("second");
          });
      timer.schedule(start + 20_000_000 - timer.nanos(), () -> rung.add("first"));
      never.cancel();
      prepared.countDown();

      assertEquals("first", rung.poll(10, SECONDS));
      assertEquals("failure: second", rung.poll(10, SECONDS));
      assertEquals("third", rung.poll(10, SECONDS));
      assertTrue(timer.nanos() - start >= 60_000_000, "it rang too early");
    }
  }

  @Test
  @DisplayName("closing ends the thread, also from an alarm; scheduled alarms do not run")
  void close() throws Exception {
    Timer timer = new ThreadTimer(failure -> rung.add(failure.toString()));
    timer.schedule(
        0,
        () -> {
          timer.close();
          rung.add(Thread.currentThread().getName());
        });
    timer.schedule(1_000_000_000, () -> rung.add("too late"));

    assertEquals("supervision-timer", rung.poll(10, SECONDS));
    timer.close();
    timer.schedule(0, () -> rung.add("after the end"));

    assertNull(rung.poll());
    assertTrue(
        Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().equals("supervision-timer")),
        "the timer's thread is still there");
  }
}
