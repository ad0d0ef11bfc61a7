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
 * Each listener is called on a thread of its own, {@link ListenerThread}.
 */
final class TreeEvents {

  private final LogTree logs;
  private final Timer timer;
  private final Log ownLog;
  private final Outbox outbox;
  private final List<ListenerThread> listeners = new CopyOnWriteArrayList<>();
  private final MutableValue<Long> changes = new MutableValue<>(0L);

  /** Guarded by the lock. */
  private boolean closed;

  TreeEvents(LogTree logs, Timer timer) {
    this.logs = logs;
    this.timer = timer;
    ownLog = logs.log("supervision");
    outbox = new Outbox(() -> changes.update(count -> count.orElse(0L) + 1), this::report);
  }

  /** Returns the number of changes of the tree; listeners may receive a change a moment later. */
  Value<Long> changes() {
    return changes;
  }

  Supervisor.Registration listen(TransitionListener listener) {
    Objects.requireNonNull(listener, "listener");
    ListenerThread[] started = new ListenerThread[1];
    locked(
        () -> {
          if (closed) {
            throw new SupervisionException(
                "the supervision tree is closed, and no listener follows it");
          }
          started[0] =
              ListenerThread.start(
                  listener, timer, ownLog, ListenerThread.LIMIT, listeners::remove);
          listeners.add(started[0]);
        });
    return started[0];
  }

  /** Ends the calls of listeners, after those that are due. */
  void close() {
    locked(() -> closed = true);
    listeners.forEach(ListenerThread::end);
    listeners.forEach(ListenerThread::awaitEnd);
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

  /** Notifies listeners after the lock is released, on their own threads. */
  void notifyListeners(Consumer<TransitionListener> what) {
    outbox.post(() -> listeners.forEach(listener -> listener.post(what)));
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

  /** Logs a failure outside a runnable: of a log or the tree itself. */
  private void report(Throwable failure) {
    ownLog.error("a report of the supervision tree failed: %s", Failures.line(failure), failure);
  }

  static String seconds(long nanos) {
    return nanos / 100_000_000 / 10.0 + " s";
  }
}
