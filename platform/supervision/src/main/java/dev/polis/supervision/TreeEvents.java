package dev.polis.supervision;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Runs the steps of a tree under its lock, and delivers their messages to listeners and logs
 * afterwards.
 *
 * <p>There is one lock, held for short steps only; no task, listener or log is called under it.
 */
final class TreeEvents {

  private final LogTree logs;
  private final Timer timer;
  private final Log ownLog;
  private final Outbox outbox;
  private final List<TransitionListener> listeners = new CopyOnWriteArrayList<>();
  private final MutableValue<Long> changes = new MutableValue<>(0L);

  TreeEvents(LogTree logs, Timer timer) {
    this.logs = logs;
    this.timer = timer;
    ownLog = logs.log("supervision");
    outbox = new Outbox(() -> changes.update(count -> count.orElse(0L) + 1), this::report);
  }

  /** Returns the number of changes of the tree, which grows after listeners were notified. */
  Value<Long> changes() {
    return changes;
  }

  Supervisor.Registration listen(TransitionListener listener) {
    listeners.add(Objects.requireNonNull(listener, "listener"));
    return () -> listeners.remove(listener);
  }

  /** Runs a step under the lock, then delivers its messages. */
  void locked(Runnable step) {
    long posted;
    synchronized (this) {
      step.run();
      posted = outbox.posted();
    }
    outbox.deliver(posted);
  }

  /** Changes the state of a node, and notifies listeners while the node is in the tree. */
  void enter(Node node, RunState state, String reason) {
    if (node.state == state) {
      return;
    }
    Transition transition = new Transition(node.dn, node.state, state, timer.time(), reason);
    node.state = state;
    node.since = transition.time();
    if (!node.removed) {
      notifyListeners(listener -> listener.changed(transition));
    } else {
      // An empty message, since the list of runnables has changed.
      outbox.post(() -> {});
    }
  }

  /** Notifies listeners after the lock is released. */
  void notifyListeners(Consumer<TransitionListener> what) {
    outbox.post(() -> listeners.forEach(listener -> contained(listener, what)));
  }

  private void contained(TransitionListener listener, Consumer<TransitionListener> what) {
    try {
      what.accept(listener);
    } catch (Throwable failure) {
      report(failure);
    }
  }

  /** Writes to the log of a node after the lock is released. */
  void log(Node node, Consumer<Log> entry) {
    outbox.post(() -> entry.accept(logs.log(node.dn)));
  }

  /** Logs a failure of a runnable: in one line, and with its stack trace if it is a defect. */
  void logFailure(Node node, Severity severity, String text, Throwable failure) {
    log(
        node,
        log -> {
          if (Failures.isPanic(failure)) {
            log.log(severity, "%s: %s", text, Failures.line(failure), failure);
          } else {
            log.log(severity, "%s: %s", text, Failures.line(failure));
          }
        });
  }

  /** Logs a failure outside a runnable: of a listener, a log or the tree itself. */
  private void report(Throwable failure) {
    ownLog.error("a listener of the supervision tree failed: %s", Failures.line(failure), failure);
  }

  static String seconds(long nanos) {
    return nanos / 100_000_000 / 10.0 + " s";
  }
}
