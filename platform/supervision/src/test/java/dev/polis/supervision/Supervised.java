package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * Opens a tree under test, and answers the tests' questions about it. Closing it fails if a thread
 * does not end.
 */
final class Supervised implements AutoCloseable {
  /** Far longer than any test here; only a hang reaches it. */
  static final Duration LONG = Duration.ofSeconds(10);

  final LogTree logs = LogTree.create();
  final SupervisionTree tree;
  final TransitionHistory history = new TransitionHistory();
  private final Queue<Thread> threads = new ConcurrentLinkedQueue<>();

  Supervised() {
    tree = SupervisionTree.open(logs);
    tree.listen(history);
  }

  /** Opens a tree with a given time and without randomness, so that delays are exact. */
  Supervised(Timer timer) {
    tree = SupervisionTree.open(logs, timer, () -> 0.5);
    tree.listen(history);
  }

  /** Remembers the thread of a task, so that its end can be checked later. */
  Task traced(Task task) {
    return context -> {
      threads.add(Thread.currentThread());
      task.run(context);
    };
  }

  /** Returns a task that becomes healthy and runs until it is cancelled. */
  Task steady() {
    return traced(
        context -> {
          context.healthy();
          context.awaitCancelled();
        });
  }

  /** Returns a task that becomes healthy, waits to be cancelled, and then does its last work. */
  static Task endingWith(Task lastWork) {
    return context -> {
      context.healthy();
      try {
        context.awaitCancelled();
      } finally {
        lastWork.run(context);
      }
    };
  }

  /** Waits for the threads of traced tasks, also for those that outlived their subtree. */
  void joinThreads() throws InterruptedException {
    for (Thread thread : threads) {
      assertTrue(thread.join(LONG), () -> "thread " + thread.getName() + " does not end");
    }
  }

  RunnableStatus status(String dn) {
    return statuses().stream()
        .filter(at -> at.dn().equals(dn))
        .findFirst()
        .orElseThrow(() -> new AssertionError(dn + " is not in the tree: " + statuses()));
  }

  List<RunnableStatus> statuses() {
    return tree.runnables().peek().orElseThrow();
  }

  boolean has(String dn) {
    return statuses().stream().anyMatch(at -> at.dn().equals(dn));
  }

  void awaitHealthy(String... dns) throws InterruptedException, TimeoutException {
    for (String dn : dns) {
      await(dn, RunState.HEALTHY);
    }
  }

  void await(String dn, RunState state) throws InterruptedException, TimeoutException {
    await(dn, at -> at.state() == state, "%s to be %s".formatted(dn, state));
  }

  void await(String dn, Predicate<RunnableStatus> wanted, String what)
      throws InterruptedException, TimeoutException {
    Await.value(
        tree.runnables(),
        all -> all.stream().anyMatch(at -> at.dn().equals(dn) && wanted.test(at)),
        LONG,
        what);
  }

  /** Waits for a run of a restarted runnable: the n-th restart, in the given state. */
  void awaitRestart(String dn, long restarts, RunState state)
      throws InterruptedException, TimeoutException {
    await(
        dn,
        at -> at.restarts() == restarts && at.state() == state,
        "%s to be %s after restart %d".formatted(dn, state, restarts));
  }

  void awaitHistory(String dn, List<RunState> states)
      throws InterruptedException, TimeoutException {
    Await.value(
        history.transitions(),
        all -> containsInOrder(history.states(dn), states),
        LONG,
        "%s to pass through %s".formatted(dn, states));
  }

  /** Waits until a runnable has passed through exactly these states. */
  void awaitStates(String dn, List<RunState> states) throws InterruptedException {
    Await.value(
        history.transitions(),
        all -> states.equals(history.states(dn)),
        LONG,
        "%s to pass through exactly %s".formatted(dn, states));
  }

  private static boolean containsInOrder(List<RunState> all, List<RunState> wanted) {
    int next = 0;
    for (RunState state : all) {
      if (next < wanted.size() && state == wanted.get(next)) {
        next++;
      }
    }
    return next == wanted.size();
  }

  /** Prepares to wait for a transition with a reason; cheap in trees of any size. */
  CountDownLatch reason(String dn, String part) {
    CountDownLatch seen = new CountDownLatch(1);
    tree.listen(
        new TransitionListener() {
          @Override
          public void changed(Transition transition) {
            if (transition.dn().equals(dn) && transition.reason().contains(part)) {
              seen.countDown();
            }
          }

          @Override
          public void removed(String removed) {
            // Only reasons matter here.
          }
        });
    return seen;
  }

  List<String> logged(String dn, Severity severity) {
    try (LogReader reader =
        logs.read(LogQuery.of(dn).withChildren().backlogAll().minimumSeverity(severity))) {
      return reader.backlog().stream().map(Supervised::text).toList();
    }
  }

  /** Waits for an entry whose text contains a part. */
  void awaitLogged(String dn, Severity severity, String part) throws Exception {
    Await.until(
        LONG,
        "an entry of %s with \"%s\"".formatted(dn, part),
        () -> logged(dn, severity).stream().anyMatch(line -> line.contains(part)),
        () -> logged(dn, severity));
  }

  private static String text(LogEntry entry) {
    return switch (entry.payload()) {
      case LogPayload.Leveled leveled ->
          entry.dn() + " " + leveled.severity() + " " + leveled.message();
      case LogPayload.Raw raw -> entry.dn() + " " + raw;
    };
  }

  @Override
  public void close() {
    tree.close();
    for (Thread thread : threads) {
      assertTrue(!thread.isAlive(), () -> "thread " + thread.getName() + " outlived its tree");
    }
  }
}
