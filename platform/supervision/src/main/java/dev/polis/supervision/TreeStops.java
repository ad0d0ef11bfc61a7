package dev.polis.supervision;

import dev.polis.base.backoff.Uninterrupted;
import dev.polis.base.boot.StopReason;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Stops nodes for good, in the order of dependence, and waits for their threads.
 *
 * <p>It cancels the last started node first, and children before their parents; {@link #next} makes
 * one step after each return. It abandons a node that does not return within the patience: the name
 * becomes free, and the node stays visible until its threads end.
 *
 * <p>Callers of {@link #stop}, which waits, do not hold the tree's lock; callers of all other
 * methods do.
 */
final class TreeStops {
  private final SupervisionTree tree;
  private final TreeEvents events;
  private final Set<Node> abandoned = new LinkedHashSet<>();

  /** The runs that have returned, whose threads may still execute their last instructions. */
  private final Queue<Run> leaving = new ArrayDeque<>();

  TreeStops(SupervisionTree tree, TreeEvents events) {
    this.tree = tree;
    this.events = events;
  }

  /** Returns the closed nodes that have not returned. */
  Stream<Node> abandoned() {
    return abandoned.stream();
  }

  /** Remembers a returned run until its thread has ended. */
  void leaving(Run run) {
    seeOff();
    leaving.add(run);
  }

  /** Forgets the threads that have ended. */
  private void seeOff() {
    while (!leaving.isEmpty() && !leaving.peek().thread.isAlive()) {
      leaving.remove();
    }
  }

  /** Removes a closing node after its last thread has returned. */
  void returned(Node node) {
    if (abandoned.remove(node)) {
      events.log(node, log -> log.info("the last thread left behind has returned"));
    }
    remove(node);
  }

  /**
   * Stops a node and its descendants.
   *
   * @return the DNs of those that did not return within the patience
   */
  List<String> stop(Node node, StopReason reason, Duration patience) {
    List<Thread> threads = new ArrayList<>();
    events.locked(
        () -> {
          node.andBelow().filter(Node::running).forEach(at -> threads.add(at.run.thread));
          leaving.stream()
              .filter(run -> node.contains(run.node))
              .forEach(run -> threads.add(run.thread));
          beginStop(node, reason);
        });
    long start = System.nanoTime();
    if (!awaitGone(node, patience)) {
      List<String> refusing = new ArrayList<>();
      events.locked(() -> refusing.addAll(abandon(node)));
      return List.copyOf(refusing);
    }
    // All have returned; this waits for the last instructions of their threads.
    Duration left = patience.minusNanos(System.nanoTime() - start);
    threads.forEach(thread -> Uninterrupted.join(thread, left));
    events.locked(this::seeOff);
    return List.of();
  }

  /** Waits half of the patience for an orderly end, then cancels the rest and waits for it. */
  private boolean awaitGone(Node node, Duration patience) {
    Duration half = patience.dividedBy(2);
    if (Uninterrupted.await(node.gone, half)) {
      return true;
    }
    events.locked(() -> node.andBelow().filter(Node::running).forEach(tree::interrupt));
    return Uninterrupted.await(node.gone, patience.minus(half));
  }

  private void beginStop(Node node, StopReason reason) {
    if (node.removed || node.closing) {
      return;
    }
    node.closing = true;
    Cause cause = Cause.stop(node.dn, reason);
    node.andBelow().filter(at -> !at.stopping).forEach(at -> markStopping(at, cause));
    next(node);
    if (node.live == 0) {
      remove(node);
    }
  }

  /** Marks a node that must not start again; its cancellation waits for its turn. */
  private void markStopping(Node node, Cause cause) {
    tree.unschedule(node);
    node.stopping = true;
    node.cause = cause;
    events.enter(node, node.live == 0 ? RunState.CANCELED : RunState.STOPPING, cause.reason());
    if (node.cancelled && node.running()) {
      node.run.stopReason = cause.stop();
    } else if (!node.running()) {
      tree.interrupt(node);
    }
  }

  /**
   * Cancels the next nodes in the order of a stop: of the last started running children, those
   * without running children; the node itself after all its children.
   */
  void next(Node node) {
    for (Node child : node.children.sequencedValues().reversed()) {
      if (child.live > 0) {
        child.group.members.stream().filter(member -> member.live > 0).forEach(this::next);
        return;
      }
    }
    tree.interrupt(node);
  }

  /** Stops waiting: the name becomes free, and the running nodes stay visible. */
  private List<String> abandon(Node node) {
    if (node.removed || abandoned.contains(node)) {
      return refusing(node);
    }
    List<String> refusing = refusing(node);
    events.log(
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
      tree.release(parent);
    }
    return refusing;
  }

  private static List<String> refusing(Node node) {
    return node.andBelow().filter(Node::running).map(at -> at.dn).sorted().toList();
  }

  void remove(Node node) {
    tree.unschedule(node);
    forget(node);
    List.copyOf(node.children.values()).forEach(this::remove);
    node.gone.countDown();
  }

  private void forget(Node node) {
    if (node.parent != null) {
      node.parent.children.remove(node.name, node);
    }
    node.andBelow()
        .filter(at -> !at.removed)
        .forEach(
            at -> {
              at.removed = true;
              events.notifyListeners(listener -> listener.removed(at.dn));
            });
  }
}
