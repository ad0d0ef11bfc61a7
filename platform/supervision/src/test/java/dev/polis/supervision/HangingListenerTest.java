package dev.polis.supervision;

import static dev.polis.supervision.RunState.CANCELED;
import static dev.polis.supervision.RunState.DEAD;
import static dev.polis.supervision.RunState.HEALTHY;
import static dev.polis.supervision.RunState.NEW;
import static dev.polis.supervision.RunState.STOPPING;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.logtree.Severity;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lets a listener hang in a call, and looks at the tree, its log and its other listeners. */
@Timeout(60)
final class HangingListenerTest {
  private final CountDownLatch entered = new CountDownLatch(1);
  private final CountDownLatch leave = new CountDownLatch(1);

  /** Hangs in its first call until the test lets it return. */
  private final class Hanging implements TransitionListener {
    @Override
    public void changed(Transition transition) {
      entered.countDown();
      try {
        leave.await();
      } catch (InterruptedException endOfTree) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void removed(String dn) {
      // It hangs in a change before.
    }
  }

  @Test
  @DisplayName("a listener that hangs stops no start, no restart, no close and no other listener")
  void theTreeWorks() throws Exception {
    AtomicBoolean fail = new AtomicBoolean(true);
    CountDownLatch failing = new CountDownLatch(1);
    try (Supervised world = new Supervised()) {
      world.tree.listen(new Hanging());
      Subtree organ = world.tree.organ("foo");
      assertTrue(entered.await(10, TimeUnit.SECONDS), "it was not called");

      organ.run(
          "one",
          world.traced(
              context -> {
                context.healthy();
                if (fail.getAndSet(false)) {
                  failing.await();
                  throw new IOException("once");
                }
                context.awaitCancelled();
              }));
      world.awaitHealthy("root.foo.one");
      failing.countDown();
      world.awaitRestart("root.foo.one", 1, HEALTHY);
      assertEquals(List.of(), organ.close(StopReason.CODE_REPLACED, Supervised.LONG));

      world.awaitHistory(
          "root.foo.one", List.of(NEW, HEALTHY, DEAD, NEW, HEALTHY, STOPPING, CANCELED));
      leave.countDown();
    }
  }

  @Test
  @DisplayName("the log names a listener that hangs with its place, and says when it returned")
  void theLogNamesIt() throws Exception {
    ManualTimer timer = new ManualTimer();
    try (Supervised world = new Supervised(timer)) {
      world.tree.listen(new Hanging());
      world.tree.organ("foo").run("one", world.steady());
      world.awaitHealthy("root.foo.one");
      assertTrue(entered.await(10, TimeUnit.SECONDS), "it was not called");

      timer.advance(Duration.ofSeconds(4));
      assertEquals(List.of(), world.logged("supervision", Severity.WARNING));
      timer.advance(Duration.ofSeconds(2));

      List<String> named = world.logged("supervision", Severity.WARNING);
      assertEquals(1, named.size(), named::toString);
      assertTrue(
          named
              .getFirst()
              .contains(
                  "the listener "
                      + Hanging.class.getName()
                      + " has not returned from a call for 5"),
          named::getFirst);
      assertTrue(named.getFirst().contains("HangingListenerTest$Hanging.changed"), named::getFirst);
      leave.countDown();
      world.awaitLogged("supervision", Severity.INFO, "has returned at last");
    }
  }
}
