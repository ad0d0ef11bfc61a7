package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.stream.Stream;

/**
 * Runs, restarts and stops the tasks of a tree: for the component of that name, for tests, and for
 * programs without a framework.
 *
 * <p>{@link TreeGrowth} adds nodes, {@link TreeStops} stops them for good, {@link TreeEvents} has
 * the lock and delivers changes to listeners and logs. The tree polls nothing: each event (a
 * signal, a return, a close, an alarm) causes all its effects at once. A node is <em>quiet</em>
 * when neither it nor a descendant has a thread. The tree counts the threads; when a node becomes
 * quiet, groups restart and closes end.
 */
public final class SupervisionTree implements Supervisor, AutoCloseable {
  private static final ScopedValue<Run> CURRENT = ScopedValue.newInstance();

  private final LogTree logs;
  private final Timer timer;
  private final Overdue overdue;
  private final TreeEvents events;
  private final TreeGrowth growth;
  private final Value<List<RunnableStatus>> runnables;
  private final TreeStops stops;
  private final Node root;

  private SupervisionTree(LogTree logs, Timer timer, DoubleSupplier random) {
    this.logs = logs;
    this.timer = timer;
    overdue = new Overdue(timer, () -> locked(this::remind));
    events = new TreeEvents(logs, timer);
    growth = new TreeGrowth(random);
    stops = new TreeStops(this, events);
    runnables = Values.map(events.changes(), count -> snapshot());
    root = growth.root();
    locked(() -> enter(root, RunState.HEALTHY, ""));
  }

  /**
   * Opens a tree.
   *
   * @param logs receives the entries of its runnables
   * @return the tree; its opener closes it
   */
  public static SupervisionTree open(LogTree logs) {
    Timer timer =
        new ThreadTimer(failure -> logs.log("supervision").error("an alarm failed: %s", failure));
    return open(logs, timer, () -> ThreadLocalRandom.current().nextDouble());
  }

  /** Opens a tree with the given timer and random numbers, and closes the timer with the tree. */
  static SupervisionTree open(LogTree logs, Timer timer, DoubleSupplier random) {
    return new SupervisionTree(logs, timer, random);
  }

  LogTree logs() {
    return logs;
  }

  @Override
  public Value<List<RunnableStatus>> runnables() {
    return runnables;
  }

  @Override
  public Registration listen(TransitionListener listener) {
    return events.listen(listener);
  }

  // ---------------------------------------------------------------------------------- adding

  void addGroup(Run run, Map<String, Task> tasks) {
    locked(
        () -> {
          requireNew(run, "starts children " + tasks.keySet());
          addTasks(run.node, tasks);
        });
    // A virtual thread is not preempted: one that starts children without end would keep its
    // carrier, and the others would never run.
    Thread.yield();
  }

  void addGroup(Node subtree, Map<String, Task> tasks) {
    locked(
        () -> {
          TreeGrowth.requireOpen(subtree);
          addTasks(subtree, tasks);
        });
  }

  private void addTasks(Node parent, Map<String, Task> tasks) {
    growth.addGroup(parent, tasks).members.forEach(this::start);
  }

  Subtree addSubtree(Run run, String name) {
    Node[] added = new Node[1];
    locked(
        () -> {
          requireNew(run, "opens subtree " + name);
          added[0] = addBranch(run.node, name);
        });
    return new Branch(this, added[0]);
  }

  Subtree addSubtree(Node subtree, String name) {
    Node[] added = new Node[1];
    locked(
        () -> {
          TreeGrowth.requireOpen(subtree);
          added[0] = addBranch(subtree, name);
        });
    return new Branch(this, added[0]);
  }

  /** Adds a subtree under the root, with a number in its name if the name is taken. */
  @Override
  public Subtree organ(String name) {
    Node[] added = new Node[1];
    locked(
        () -> {
          TreeGrowth.requireOpen(root);
          Node node = growth.addOrgan(root, name);
          enter(node, RunState.HEALTHY, "");
          if (!node.name.equals(name)) {
            events.log(
                node,
                log -> log.info("another instance of this organ is open; this one is %s", node.dn));
          }
          added[0] = node;
        });
    return new Branch(this, added[0]);
  }

  /** Moves a subtree with its running content below another one. */
  void move(Node subtree, Node parent) {
    locked(
        () -> {
          growth.move(subtree, parent, this::release, this::enliven);
          log(subtree, log -> log.info("belongs to %s from now on", parent.dn));
        });
  }

  private Node addBranch(Node parent, String name) {
    Node node = growth.addBranch(parent, name);
    enter(node, RunState.HEALTHY, "");
    return node;
  }

  // ---------------------------------------------------------------------------------- signals

  void healthy(Run run) {
    locked(
        () -> {
          if (usable(run, "signals healthy")) {
            requireState(run, "signals healthy", RunState.NEW);
            run.node.restartDelay.reset();
            run.node.same.reset();
            enter(run.node, RunState.HEALTHY, "");
          }
        });
  }

  void done(Run run) {
    locked(
        () -> {
          if (usable(run, "signals done")) {
            requireState(run, "signals done", RunState.HEALTHY);
            if (run.doneSignalled) {
              throw new SupervisionException("%s signals done twice".formatted(run.dn()));
            }
            run.doneSignalled = true;
          }
        });
  }

  Log subLog(Run run, String name) {
    locked(
        () -> {
          requireOwn(run, "opens sub-log " + name);
          Node node = run.node;
          if (!node.reserved.contains(name)) {
            TreeGrowth.requireFree(node, name);
            node.reserved.add(name);
          }
        });
    return logs.log(run.dn() + "." + name);
  }

  private void requireNew(Run run, String what) {
    if (!usable(run, what)) {
      throw new CancellationException(
          "%s %s, but is cancelled: %s".formatted(run.dn(), what, run.node.cause.reason()));
    }
    requireState(run, what, RunState.NEW);
  }

  private static void requireState(Run run, String what, RunState state) {
    if (run.node.state != state) {
      throw new SupervisionException(
          "%s %s in state %s, possible only in state %s"
              .formatted(run.dn(), what, run.node.state, state));
    }
  }

  /** Returns false if the run must end, so that its signals have no effect. */
  private static boolean usable(Run run, String what) {
    requireOwn(run, what);
    return !run.node.cancelled && !run.node.stopping;
  }

  private static void requireOwn(Run run, String what) {
    if (run.ended) {
      throw new SupervisionException(
          "a thread %s for a run of %s that has ended: a context is of use to its own run only"
              .formatted(what, run.dn()));
    }
    Run current = CURRENT.isBound() ? CURRENT.get() : run;
    if (current != run) {
      throw new SupervisionException(
          "%s %s with the context of %s: each runnable uses its own"
              .formatted(current.dn(), what, run.dn()));
    }
  }

  // ---------------------------------------------------------------------------------- running

  private void start(Node node) {
    if (node.run != null) {
      node.past = node.pastOfChildren();
      List.copyOf(node.children.values()).forEach(stops::remove);
    }
    node.reserved.clear();
    node.cancelled = false;
    node.cause = null;
    node.notBefore = timer.nanos();
    node.restart = new NextRestart.None();
    node.run = new Run(this, node);
    enter(node, RunState.NEW, "");
    enliven(node);
    node.run.thread.start();
  }

  private void restart(Node node) {
    node.restarts++;
    start(node);
  }

  /** Runs the task and handles its end: the body of a runnable's thread. */
  void execute(Run run) {
    try {
      ScopedValue.where(CURRENT, run)
          .call(
              () -> {
                run.node.task.run(run);
                return run;
              });
    } catch (Throwable failure) {
      // Catches everything: a StackOverflowError in one organ would otherwise end the organ
      // silently.
      locked(() -> failed(run, failure));
      return;
    }
    locked(() -> returned(run));
  }

  private void returned(Run run) {
    Node node = run.node;
    end(run);
    if (node.cancelled || node.stopping) {
      enterCancelled(node);
    } else if (run.doneSignalled) {
      enter(node, RunState.DONE, "");
    } else {
      endedEarly(node);
    }
    release(node);
  }

  private void failed(Run run, Throwable failure) {
    Node node = run.node;
    end(run);
    if (node.cancelled || node.stopping) {
      failedCancelled(node, failure);
    } else if (failure instanceof RestartRequest request) {
      askedForRestart(node, request);
    } else {
      failedAlone(node, failure);
    }
    release(node);
  }

  private void end(Run run) {
    run.ended = true;
    stops.leaving(run);
    overdue.forget(run);
    // A late interrupt must not hit the listeners.
    Thread.interrupted();
    if (run.overdue) {
      String waited = TreeEvents.seconds(timer.nanos() - run.cancelledAt);
      log(run.node, log -> log.info("returned at last, %s after it was cancelled", waited));
    }
  }

  private void failedCancelled(Node node, Throwable failure) {
    Cause cause = node.cause;
    if (Failures.isCancellation(failure)) {
      enterCancelled(node);
      return;
    }
    node.lastError = Failures.line(failure);
    if (cause.wanted()) {
      String turn = node.cancelled ? "it was cancelled" : "it waited to be cancelled";
      String text = "failed while %s because %s".formatted(turn, cause.reason());
      events.logFailure(node, Severity.WARNING, text, failure);
      enterCancelled(node);
    } else {
      // The root cause has its FATAL entry already.
      String text = "died while it was cancelled because " + cause.reason();
      events.logFailure(node, Severity.ERROR, text, failure);
      enterDead(node);
    }
  }

  /** Enters CANCELED; a stopping node stays STOPPING until its descendants have returned, too. */
  private void enterCancelled(Node node) {
    if (!node.stopping) {
      enter(node, RunState.CANCELED, node.cause.reason());
    }
  }

  private void askedForRestart(Node node, RestartRequest request) {
    log(node, log -> log.info("starts again: %s", request.getMessage()));
    node.notBefore = timer.nanos() + node.restartDelay.next(timer.nanos());
    enter(node, RunState.CANCELED, Failures.line(request));
    fall(node.group, Cause.restart(node.dn, String.valueOf(request.getMessage())));
  }

  private void failedAlone(Node node, Throwable failure) {
    node.lastError = Failures.line(failure);
    String verb = Failures.isPanic(failure) ? "panicked" : "failed";
    String text = "%s in state %s".formatted(verb, node.state);
    node.same
        .next(text + node.lastError)
        .ifPresent(more -> events.logFailure(node, Severity.FATAL, text + more, failure));
    died(node);
  }

  private void endedEarly(Node node) {
    String missing = node.state == RunState.NEW ? "healthy and done" : "done";
    String message =
        "returned in state %s without having signalled %s".formatted(node.state, missing);
    node.lastError = message;
    node.same.next(message).ifPresent(more -> log(node, log -> log.fatal(message + more)));
    died(node);
  }

  private void died(Node node) {
    enterDead(node);
    fall(node.group, Cause.death(node.dn));
  }

  private void enterDead(Node node) {
    node.notBefore = timer.nanos() + node.restartDelay.next(timer.nanos());
    enter(node, RunState.DEAD, node.lastError);
  }

  // ------------------------------------------------------------------------------- restarting

  private void fall(Group group, Cause cause) {
    group.falling = true;
    group.members.forEach(member -> cancel(member, cause));
  }

  /** Cancels a node and all its descendants at once, for a restart. */
  private void cancel(Node node, Cause cause) {
    unschedule(node);
    if (node.cancelled || node.stopping) {
      return;
    }
    node.cause = cause;
    if (node.isSubtree() && node.live == 0) {
      enter(node, RunState.CANCELED, cause.reason());
    }
    interrupt(node);
    List.copyOf(node.children.values()).forEach(child -> cancel(child, cause));
  }

  /** Cancels the run of a node, unless it is cancelled already. */
  void interrupt(Node node) {
    if (node.cancelled) {
      return;
    }
    node.cancelled = true;
    if (node.running()) {
      node.run.stopReason = node.cause.stop();
      overdue.watch(node.run);
      node.run.thread.interrupt();
    }
    if (node.run != null) {
      // After the interrupt: see Run.awaitCancelled.
      node.run.cancellation.countDown();
    }
  }

  private void enliven(Node node) {
    for (Node at = node; at != null && at.live++ == 0; at = at.parent) {}
  }

  /** Counts the end of a node's thread, and handles the parents that become quiet. */
  void release(Node node) {
    Node at = node;
    while (at != null && --at.live == 0) {
      Node parent = at.parent;
      becameQuiet(at);
      at = parent;
    }
    for (; at != null; at = at.parent) {
      if (at.closing) {
        stops.next(at);
      }
    }
  }

  private void becameQuiet(Node node) {
    if (node.stopping || (node.cancelled && node.isSubtree())) {
      enter(node, RunState.CANCELED, node.cause.reason());
    }
    if (node.closing) {
      stops.returned(node);
    } else {
      riseIfQuiet(node);
    }
  }

  private void riseIfQuiet(Node node) {
    Group group = node.group;
    if (!group.falling || !group.quiet() || node.stopping) {
      return;
    }
    if (node.parent == null || node.parent.cancelled) {
      return;
    }
    group.falling = false;
    long now = timer.nanos();
    for (Node member : group.members) {
      long delay = member.notBefore - now;
      if (delay <= 0) {
        restart(member);
      } else {
        schedule(member, delay);
      }
    }
  }

  private void schedule(Node node, long delay) {
    NextRestart.At at = new NextRestart.At(timer.time().plusNanos(delay));
    node.restart = at;
    node.alarm = timer.schedule(delay, () -> locked(() -> rise(node, at)));
    long restarts = node.restarts;
    log(
        node,
        log ->
            log.info("starts again in %s (restart %d)", TreeEvents.seconds(delay), restarts + 1));
  }

  /** Starts a node, unless the restart was cancelled while its alarm rang. */
  private void rise(Node node, NextRestart.At at) {
    if (node.restart == at) {
      restart(node);
    }
  }

  /** Cancels a scheduled restart. */
  void unschedule(Node node) {
    node.alarm.cancel();
    node.alarm = () -> {};
    node.restart = new NextRestart.None();
  }

  // ---------------------------------------------------------------------------------- stopping

  List<String> stop(Node node, StopReason reason, Duration patience) {
    if (CURRENT.isBound() && node.contains(CURRENT.get().node)) {
      throw new SupervisionException(
          "%s closes %s, which it is part of, and would wait for itself: throw a RestartRequest, or close it from outside"
              .formatted(CURRENT.get().dn(), node.dn));
    }
    return stops.stop(node, reason, patience);
  }

  /** Closes the tree as {@link #close(StopReason)} does, since the process restarts. */
  @Override
  public void close() {
    close(StopReason.PROCESS_RESTART);
  }

  /**
   * Stops all runnables, waits {@link Subtree#PATIENCE} at most, and ends the tree's own threads.
   *
   * @param reason the reason
   */
  public void close(StopReason reason) {
    stop(root, reason, Subtree.PATIENCE);
    timer.close();
    events.close();
  }

  // ---------------------------------------------------------------------------------- watching

  private void locked(Runnable step) {
    events.locked(step);
  }

  private void enter(Node node, RunState state, String reason) {
    events.enter(node, state, reason);
  }

  private void log(Node node, Consumer<Log> entry) {
    events.log(node, entry);
  }

  private void remind() {
    overdue.remind(
        run -> {
          String waited = TreeEvents.seconds(timer.nanos() - run.cancelledAt);
          String reason = run.node.cause.reason();
          log(
              run.node,
              log ->
                  log.warning(
                      "has not returned %s after it was cancelled because %s; it is at %s",
                      waited, reason, Overdue.place(run.thread)));
        });
  }

  /** Returns the state of all runnables; the log already has each visible death. */
  private List<RunnableStatus> snapshot() {
    List<RunnableStatus> all = new ArrayList<>();
    locked(
        () ->
            Stream.concat(Stream.of(root), stops.abandoned())
                .distinct()
                .flatMap(Node::andBelow)
                .map(SupervisionTree::status)
                .forEach(all::add));
    return List.copyOf(all);
  }

  /** Returns the stack of a runnable's thread; does not hold the lock meanwhile. */
  @Override
  public List<StackTraceElement> stack(String dn) {
    List<Thread> threads = new ArrayList<>();
    locked(
        () ->
            root.andBelow()
                .filter(node -> node.dn.equals(dn) && node.running())
                .forEach(node -> threads.add(node.run.thread)));
    return threads.stream().flatMap(thread -> Stream.of(thread.getStackTrace())).toList();
  }

  private static RunnableStatus status(Node node) {
    return new RunnableStatus(
        node.dn,
        node.state,
        node.since,
        node.restarts,
        node.lastError,
        node.restart,
        node.running() && node.run.overdue);
  }
}
