package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Posts more changes to a listener than it takes, and closes one that hangs. */
@Timeout(60)
final class ListenerThreadTest {
  private final LogTree logs = LogTree.create();
  private final ManualTimer timer = new ManualTimer();
  private final CountDownLatch entered = new CountDownLatch(1);
  private final CountDownLatch leave = new CountDownLatch(1);
  private final List<String> heard = new CopyOnWriteArrayList<>();
  private final List<ListenerThread> closed = new ArrayList<>();

  /** Hangs in its first call until the test lets it return or interrupts it. */
  private final class Slow implements TransitionListener {
    @Override
    public void changed(Transition transition) {
      throw new AssertionError("this test posts removals alone");
    }

    @Override
    public void removed(String dn) {
      entered.countDown();
      try {
        leave.await();
        heard.add(dn);
      } catch (InterruptedException interrupted) {
        heard.add("interrupted");
      }
    }
  }

  @Test
  @DisplayName("beyond the limit the oldest changes are dropped, and the log says how many")
  void theOldestAreDropped() throws Exception {
    ListenerThread slow = start(3);
    post(slow, "first");
    assertTrue(entered.await(10, TimeUnit.SECONDS), "it was not called");

    for (int i = 0; i < 5; i++) {
      post(slow, "r-" + i);
    }
    assertEquals(1, logged("3 wait, and the oldest are dropped").size(), logged("")::toString);
    leave.countDown();

    Await.until(
        "all changes that were kept",
        () -> heard.equals(List.of("first", "r-2", "r-3", "r-4")),
        () -> heard);
    Await.until(
        "the number of lost changes in the log",
        () -> logged("has taken all changes but 2, which were dropped").size() == 1,
        () -> logged(""));
    post(slow, "later");
    Await.until("a change after the loss", () -> heard.contains("later"), () -> heard);
    slow.end();
    slow.awaitEnd();
    assertEquals(0, timer.pending(), "an alarm is left");
  }

  @Test
  @DisplayName("closing a listener that hangs does not wait, ends its calls and interrupts it")
  void closingInterrupts() throws Exception {
    ListenerThread slow = start(3);
    post(slow, "first");
    assertTrue(entered.await(10, TimeUnit.SECONDS), "it was not called");
    post(slow, "second");
    timer.advance(ListenerThread.LATE);
    assertEquals(1, logged("has not returned from a call for 5.0 s").size(), logged("")::toString);

    slow.close();
    post(slow, "third");

    slow.awaitEnd();
    assertEquals(List.of("interrupted"), heard);
    assertEquals(List.of(slow), closed);
    assertEquals(List.of(), logged("left behind"));
  }

  private ListenerThread start(int limit) {
    return ListenerThread.start(new Slow(), timer, logs.log("supervision"), limit, closed::add);
  }

  private static void post(ListenerThread listener, String dn) {
    listener.post(each -> each.removed(dn));
  }

  private List<String> logged(String part) {
    try (LogReader reader = logs.read(LogQuery.of("supervision").backlogAll())) {
      return reader.backlog().stream()
          .map(entry -> ((LogPayload.Leveled) entry.payload()).message())
          .filter(message -> message.contains(part))
          .toList();
    }
  }
}
