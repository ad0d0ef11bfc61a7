package dev.polis.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Holds writes, and counts those under way. */
class EtcdHoldTest {

  private static final Duration SOON = Duration.ofMillis(20);
  private static final Duration LONG = Duration.ofSeconds(30);

  private final EtcdHold hold = new EtcdHold();
  private final AtomicReference<Object> result = new AtomicReference<>("none yet");

  private static long in(Duration time) {
    return System.nanoTime() + time.toNanos();
  }

  /** Makes a call that waits, and returns its thread once it does. */
  private Thread waiting(Callable<Boolean> call) throws Exception {
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    result.set(call.call());
                  } catch (Exception failed) {
                    result.set(failed);
                  }
                });
    Await.until(
        LONG, "a call to wait", () -> thread.getState() == Thread.State.TIMED_WAITING, result::get);
    return thread;
  }

  @Test
  @DisplayName("a held write is sent after the release, and not before")
  void heldUntilReleased() throws Exception {
    assertTrue(hold.hold(Duration.ZERO));
    Thread write = waiting(() -> hold.enter(in(LONG)));
    assertEquals("none yet", result.get());

    hold.release();

    Await.end(write);
    assertEquals(true, result.get());
  }

  @Test
  @DisplayName("a write whose deadline passes meanwhile is not sent")
  void deadline() throws Exception {
    assertTrue(hold.hold(Duration.ZERO));
    assertFalse(hold.enter(in(SOON)));

    hold.release();

    assertTrue(hold.hold(Duration.ZERO), "the refused write counts as one under way");
  }

  @Test
  @DisplayName("a hold waits for the answer to a write under way, and says if it does not come")
  void underWay() throws Exception {
    assertTrue(hold.enter(in(LONG)));
    assertFalse(hold.hold(SOON));
    Thread again = waiting(() -> hold.hold(LONG));

    hold.leave();

    Await.end(again);
    assertEquals(true, result.get());
  }

  @Test
  @DisplayName("the hold of an access without one holds nothing")
  void none() throws Exception {
    assertThrows(IllegalStateException.class, () -> EtcdHold.NONE.hold(SOON));
    assertTrue(EtcdHold.NONE.enter(in(SOON)));
    EtcdHold.NONE.leave();
  }
}
