package dev.polis.supervision;

import dev.polis.boot.StopReason;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Values;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.stream.Stream;

/**
 * The tree and what happens in it.
 *
 * <p>There is one lock, held for short steps only; no task, listener or log is called under it.
 * Nothing is polled: each event (a signal, a return, a close, an alarm) does all that follows from
 * it. A node is <em>quiet</em> when neither it nor anything below it has a thread; that is counted,
 * and becoming quiet is the event that lets groups start again and closings end.
 */
final class Tree {
  /**
   * More than any sane DN has, far less than the stack of a thread that walks the tree can bear.
   */
  static final int DEEPEST = 64;

  /**
   * A node has some hundred runnables; this stops one that starts children for ever before memory
   * does.
   */
  static final int MOST_CHILDREN = 4_096;

  private static final ScopedValue<Run> CURRENT = ScopedValue.newInstance();

  private final ReentrantLock lock = new ReentrantLock();
  private final LogTree logs;
  private final Log ownLog;
  private final Timer timer;
  private final DoubleSupplier random;
  private final Overdue overdue;
  private final Outbox outbox;
  private final List<TransitionListener> listeners = new CopyOnWriteArrayList<>();
  private final MutableValue<Long> changes = new MutableValue<>(0L);
  private final Value<List<RunnableStatus>> runnables;
  private final Set<Node> abandoned = new LinkedHashSet<>();
  private final Queue<Run> leaving = new ArrayDeque<>();
  private final Node root;

  Tree(LogTree logs, Timer timer, DoubleSupplier random) {
    this.logs = logs;
    this.timer = timer;
    this.random = random;
    ownLog = logs.log("supervision");
    overdue = new Overdue(timer, () -> locked(this::remind));
    outbox = new Outbox(() -> changes.update(count -> count.orElse(0L) + 1), this::report);
    runnables = Values.map(changes, count -> snapshot());
    root = new Node(null, "root", null, new Group(), new Backoff(random));
    locked(() -> enter(root, RunState.HEALTHY, ""));
  }

  LogTree logs() {
    return logs;
  }

  Node root() {
    return root;
  }

  Value<List<RunnableStatus>> runnables() {
    return runnables;
  }

  Supervisor.Registration listen(TransitionListener listener) {
    listeners.add(Objects.requireNonNull(listener, "listener"));
    return () -> listeners.remove(listener);
  }

  /** Logs what no runnable is to blame for: a listener, a log or this tree itself failed. */
  void report(Throwable failure) {
    ownLog.error("a listener of the supervision tree failed: %s", Failures.line(failure), failure);
  }

  private void locked(Runnable step) {
    long told;
    lock.lock();
    try {
      step.run();
      told = outbox.posted();
    } finally {
      lock.unlock();
    }
    outbox.deliver(told);
  }

  // ---------------------------------------------------------------------------------- adding

  void addGroup(Run run, Map<String, Task> tasks) {
    locked(
        () -> {
          requireNew(run, "starts children " + tasks.keySet());
          addTasks(run.node, tasks);
        });
    // Virtual threads are not preempted: one that starts children without end would keep its
    // carrier, and no other would ever run.
    Thread.yield();
  }

  void addGroup(Node subtree, Map<String, Task> tasks) {
    locked(
        () -> {
          requireOpen(subtree);
          addTasks(subtree, tasks);
        });
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
          requireOpen(subtree);
          added[0] = addBranch(subtree, name);
        });
    return new Branch(this, added[0]);
  }

  private void addTasks(Node parent, Map<String, Task> tasks) {
    if (tasks.isEmpty()) {
      throw new SupervisionException(
          "a group under %s has no members: name at least one".formatted(parent.dn));
    }
    tasks.forEach((name, task) -> Objects.requireNonNull(task, () -> "no task for " + name));
    tasks.keySet().forEach(name -> requireFree(parent, name));
    requireRoom(parent, tasks.size());
    Group group = new Group();
    tasks.forEach((name, task) -> addNode(parent, name, task, group));
    group.members.forEach(this::start);
  }

  private Node addBranch(Node parent, String name) {
    requireFree(parent, name);
    requireRoom(parent, 1);
    Node node = addNode(parent, name, null, new Group());
    enter(node, RunState.HEALTHY, "");
    return node;
  }

  private Node addNode(Node parent, String name, Task task, Group group) {
    Node node = new Node(parent, name, task, group, new Backoff(random));
    Node.Past past = parent.past.get(name);
    if (past != null) {
      node.restarts = past.restarts() + 1;
      node.lastError = past.lastError();
      node.past = past.children();
    }
    parent.children.put(name, node);
    return node;
  }

  private static void requireFree(Node parent, String name) {
    Names.check(parent.dn, name);
    Optional<String> holder = parent.holderOf(name);
    if (holder.isPresent()) {
      throw new SupervisionException(
          "%s already has %s named '%s': choose another name, or close the subtree that has it"
              .formatted(parent.dn, holder.get(), name));
    }
  }

  private static void requireRoom(Node parent, int more) {
    if (parent.children.size() + more > MOST_CHILDREN) {
      throw new SupervisionException(
          "%s would have more than %d children: put them into subtrees that are closed when they are done"
              .formatted(parent.dn, MOST_CHILDREN));
    }
    if (parent.depth >= DEEPEST) {
      throw new SupervisionException(
          "%s is %d levels deep, nothing can be started below it".formatted(parent.dn, DEEPEST));
    }
  }

  private static void requireOpen(Node subtree) {
    if (subtree.closing || subtree.removed) {
      throw new SupervisionException(
          "%s is closed, nothing can be started in it: open another subtree".formatted(subtree.dn));
    }
    if (subtree.cancelled || subtree.stopping) {
      throw new CancellationException(
          "subtree %s: %s".formatted(subtree.dn, subtree.cause.reason()));
    }
  }

  // ---------------------------------------------------------------------------------- signals

  void healthy(Run run) {
    locked(
        () -> {
          if (usable(run, "signals healthy")) {
            requireState(run, "signals healthy", RunState.NEW);
            run.node.backoff.reset();
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
            requireFree(node, name);
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

  /** Returns false if the run is to end: what it says is of no consequence any more. */
  private static boolean usable(Run run, String what) {
    requireOwn(run, what);
    return !run.node.cancelled && !run.node.stopping;
  }

  private static void requireOwn(Run run, String what) {
    if (run.ended) {
      throw new SupervisionException(
          "somebody %s for a run of %s that has ended: a context is of use to its own run only"
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
      List.copyOf(node.children.values()).forEach(this::remove);
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

  /** The body of a runnable's thread. */
  void execute(Run run) {
    try {
      ScopedValue.where(CURRENT, run)
          .call(
              () -> {
                run.node.task.run(run);
                return run;
              });
    } catch (Throwable failure) {
      // Everything, or a StackOverflowError in one organ would silently end it.
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
    seeOff();
    leaving.add(run);
    overdue.forget(run);
    // An interrupt that came too late for the task must not hit whoever is told of its end.
    Thread.interrupted();
    if (run.overdue) {
      String waited = seconds(timer.nanos() - run.cancelledAt);
      log(run.node, log -> log.info("returned at last, %s after it was cancelled", waited));
    }
  }

  /** Forgets the threads that have ended; those left are at their last instructions. */
  private void seeOff() {
    while (!leaving.isEmpty() && !leaving.peek().thread.isAlive()) {
      leaving.remove();
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
      log(node, log -> describe(log, Severity.WARNING, text, failure));
      enterCancelled(node);
    } else {
      // The root of the evil has its FATAL entry already.
      String text = "died while it was cancelled because " + cause.reason();
      log(node, log -> describe(log, Severity.ERROR, text, failure));
      enterDead(node);
    }
  }

  /** A stopping node stays STOPPING until what is below it has returned, too. */
  private void enterCancelled(Node node) {
    if (!node.stopping) {
      enter(node, RunState.CANCELED, node.cause.reason());
    }
  }

  private void askedForRestart(Node node, RestartRequest request) {
    log(node, log -> log.info("starts again: %s", request.getMessage()));
    node.notBefore = timer.nanos() + node.backoff.next(timer.nanos());
    enter(node, RunState.CANCELED, Failures.line(request));
    fall(node.group, Cause.restart(node.dn, String.valueOf(request.getMessage())));
  }

  private void failedAlone(Node node, Throwable failure) {
    node.lastError = Failures.line(failure);
    String verb = Failures.isPanic(failure) ? "panicked" : "failed";
    String text = "%s in state %s".formatted(verb, node.state);
    log(node, log -> describe(log, Severity.FATAL, text, failure));
    died(node);
  }

  private void endedEarly(Node node) {
    String missing = node.state == RunState.NEW ? "healthy and done" : "done";
    String message =
        "returned in state %s without having signalled %s".formatted(node.state, missing);
    node.lastError = message;
    log(node, log -> log.fatal(message));
    died(node);
  }

  private void died(Node node) {
    enterDead(node);
    fall(node.group, Cause.death(node.dn));
  }

  private void enterDead(Node node) {
    node.notBefore = timer.nanos() + node.backoff.next(timer.nanos());
    enter(node, RunState.DEAD, node.lastError);
  }

  // ---------------------------------------------------------------------------------- falling and
  // rising

  private void fall(Group group, Cause cause) {
    group.falling = true;
    group.members.forEach(member -> cancel(member, cause));
  }

  /** Cancels a node and all below it at once, to be started again. */
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

  private void interrupt(Node node) {
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

  private void release(Node node) {
    Node at = node;
    while (at != null && --at.live == 0) {
      Node parent = at.parent;
      becameQuiet(at);
      at = parent;
    }
    for (; at != null; at = at.parent) {
      if (at.closing) {
        stopNext(at);
      }
    }
  }

  private void becameQuiet(Node node) {
    if (node.stopping || (node.cancelled && node.isSubtree())) {
      enter(node, RunState.CANCELED, node.cause.reason());
    }
    if (node.closing) {
      if (abandoned.remove(node)) {
        log(node, log -> log.info("the last of those left behind has returned"));
      }
      remove(node);
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
    log(node, log -> log.info("starts again in %s (restart %d)", seconds(delay), restarts + 1));
  }

  /** Starts a node, unless this very restart was called off while its alarm rang. */
  private void rise(Node node, NextRestart.At at) {
    if (node.restart == at) {
      restart(node);
    }
  }

  private void unschedule(Node node) {
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
    List<Thread> threads = new ArrayList<>();
    locked(
        () -> {
          below(node).filter(Node::running).forEach(at -> threads.add(at.run.thread));
          leaving.stream()
              .filter(run -> node.contains(run.node))
              .forEach(run -> threads.add(run.thread));
          beginStop(node, reason);
        });
    long start = System.nanoTime();
    if (!awaitGone(node, patience)) {
      List<String> refusing = new ArrayList<>();
      locked(() -> refusing.addAll(abandon(node)));
      return List.copyOf(refusing);
    }
    // All have returned; this is for the last instructions of their threads.
    Duration left = patience.minusNanos(System.nanoTime() - start);
    threads.forEach(thread -> Uninterrupted.join(thread, left));
    locked(this::seeOff);
    return List.of();
  }

  /** Waits half of the patience for an end in order, then cancels the rest and waits for it. */
  private boolean awaitGone(Node node, Duration patience) {
    Duration half = patience.dividedBy(2);
    if (Uninterrupted.await(node.gone, half)) {
      return true;
    }
    locked(() -> below(node).filter(Node::running).forEach(this::interrupt));
    return Uninterrupted.await(node.gone, patience.minus(half));
  }

  private void beginStop(Node node, StopReason reason) {
    if (node.removed || node.closing) {
      return;
    }
    node.closing = true;
    Cause cause = Cause.stop(node.dn, reason);
    below(node).filter(at -> !at.stopping).forEach(at -> markStopping(at, cause));
    stopNext(node);
    if (node.live == 0) {
      remove(node);
    }
  }

  /** Says that a node will not start again; its run is cancelled when its turn comes. */
  private void markStopping(Node node, Cause cause) {
    unschedule(node);
    node.stopping = true;
    node.cause = cause;
    enter(node, node.live == 0 ? RunState.CANCELED : RunState.STOPPING, cause.reason());
    if (node.cancelled && node.running()) {
      node.run.stopReason = cause.stop();
    } else if (!node.running()) {
      interrupt(node);
    }
  }

  /**
   * Cancels what is next in the order of a stop: of the children that were started last and still
   * run, those that have no running children themselves; the node itself when all its children have
   * returned.
   */
  private void stopNext(Node node) {
    for (Node child : node.children.sequencedValues().reversed()) {
      if (child.live > 0) {
        child.group.members.stream().filter(member -> member.live > 0).forEach(this::stopNext);
        return;
      }
    }
    interrupt(node);
  }

  /** Gives up waiting: the name becomes free, and what does not return stays in sight. */
  private List<String> abandon(Node node) {
    if (node.removed || abandoned.contains(node)) {
      return refusing(node);
    }
    List<String> refusing = refusing(node);
    log(
        node,
        log ->
            log.error(
                "closed, though %s did not return when cancelled: defects, their threads are left"
                    + " behind",
                String.join(", ", refusing)));
    Node parent = node.parent;
    forget(node);
    abandoned.add(node);
    if (parent != null) {
      node.parent = null;
      release(parent);
    }
    return refusing;
  }

  private static List<String> refusing(Node node) {
    return below(node).filter(Node::running).map(at -> at.dn).sorted().toList();
  }

  private void remove(Node node) {
    unschedule(node);
    forget(node);
    List.copyOf(node.children.values()).forEach(this::remove);
    node.gone.countDown();
  }

  private void forget(Node node) {
    if (node.parent != null) {
      node.parent.children.remove(node.name, node);
    }
    below(node)
        .filter(at -> !at.removed)
        .forEach(
            at -> {
              at.removed = true;
              tell(listener -> listener.removed(at.dn));
            });
  }

  /** Stops everything for good. */
  List<String> close(StopReason reason, Duration patience) {
    List<String> refusing = stop(root, reason, patience);
    timer.close();
    return refusing;
  }

  // ---------------------------------------------------------------------------------- telling

  private void enter(Node node, RunState state, String reason) {
    if (node.state == state) {
      return;
    }
    Transition transition = new Transition(node.dn, node.state, state, timer.time(), reason);
    node.state = state;
    node.since = transition.time();
    if (!node.removed) {
      tell(listener -> listener.changed(transition));
    } else {
      // Nobody hears of it, but the list of runnables has changed.
      outbox.post(() -> {});
    }
  }

  private void tell(Consumer<TransitionListener> what) {
    outbox.post(() -> listeners.forEach(listener -> contained(listener, what)));
  }

  private void contained(TransitionListener listener, Consumer<TransitionListener> what) {
    try {
      what.accept(listener);
    } catch (Throwable failure) {
      report(failure);
    }
  }

  private void log(Node node, Consumer<Log> entry) {
    outbox.post(() -> entry.accept(logs.log(node.dn)));
  }

  private void remind() {
    overdue.remind(
        run -> {
          String waited = seconds(timer.nanos() - run.cancelledAt);
          String reason = run.node.cause.reason();
          log(
              run.node,
              log ->
                  log.warning(
                      "has not returned %s after it was cancelled because %s; it is at %s",
                      waited, reason, Overdue.place(run.thread)));
        });
  }

  /** What is seen here was told before: who sees a death finds it in the log. */
  private List<RunnableStatus> snapshot() {
    List<RunnableStatus> all = new ArrayList<>();
    locked(
        () ->
            Stream.concat(Stream.of(root), abandoned.stream())
                .distinct()
                .flatMap(Tree::below)
                .map(Tree::status)
                .forEach(all::add));
    return List.copyOf(all);
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

  /** Returns a node and all below it, parents first. */
  private static Stream<Node> below(Node node) {
    List<Node> all = new ArrayList<>();
    collect(node, all);
    return all.stream();
  }

  private static void collect(Node node, List<Node> all) {
    all.add(node);
    node.children.values().forEach(child -> collect(child, all));
  }

  /** Logs a failure: in one line, and with its stack trace if it is a defect of the code. */
  private static void describe(Log log, Severity severity, String text, Throwable failure) {
    if (Failures.isPanic(failure)) {
      log.log(severity, "%s: %s", text, Failures.line(failure), failure);
    } else {
      log.log(severity, "%s: %s", text, Failures.line(failure));
    }
  }

  private static String seconds(long nanos) {
    return nanos / 100_000_000 / 10.0 + " s";
  }
}
