package dev.polis.supervision;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

/**
 * Holds the state of one place in the tree: a runnable, whose task is run again and again, or a
 * subtree, which has no task. All fields that change are guarded by the tree's lock.
 */
final class Node {

  /** What is remembered of a child while its parent starts again. */
  record Past(long restarts, String lastError, Map<String, Past> children) {}

  final String name;
  final String dn;
  final int depth;
  final Group group;
  final RestartDelay restartDelay;

  /** Null for a subtree. */
  final Task task;

  /** Null for the root, and for what was abandoned. */
  Node parent;

  /** In the order of their start. */
  final SequencedMap<String, Node> children = new LinkedHashMap<>();

  final Set<String> reserved = new HashSet<>();
  Map<String, Past> past = Map.of();

  RunState state = RunState.DEAD;
  Instant since = Instant.EPOCH;
  long restarts;
  String lastError = "";

  /** The latest run; null before the first and for a subtree. */
  Run run;

  /** This node's thread, if it runs, and the children that are live themselves. */
  int live;

  /** Its latest run has been interrupted, or has ended when this node was cancelled. */
  boolean cancelled;

  /** Shall not start again; is cancelled when its turn comes. */
  boolean stopping;

  /** Null until cancelled or stopping. */
  Cause cause;

  /** The earliest monotonic time of the next start. */
  long notBefore;

  NextRestart restart = new NextRestart.None();

  /** Does nothing unless a restart is scheduled. */
  Timer.Alarm alarm = () -> {};

  /** Being closed: leaves the tree as soon as it is quiet. */
  boolean closing;

  /** Has left the tree; listeners are not notified of its changes any more. */
  boolean removed;

  final CountDownLatch gone = new CountDownLatch(1);

  Node(Node parent, String name, Task task, Group group, RestartDelay restartDelay) {
    this.parent = parent;
    this.name = name;
    this.task = task;
    this.group = group;
    this.restartDelay = restartDelay;
    dn = parent == null ? name : parent.dn + "." + name;
    depth = parent == null ? 0 : parent.depth + 1;
    group.members.add(this);
  }

  Map<String, Past> pastOfChildren() {
    Map<String, Past> all = new HashMap<>();
    children.forEach(
        (childName, child) ->
            all.put(childName, new Past(child.restarts, child.lastError, child.pastOfChildren())));
    return all;
  }

  /** Returns this node and all below it, parents first. */
  Stream<Node> andBelow() {
    List<Node> all = new ArrayList<>();
    collect(all);
    return all.stream();
  }

  private void collect(List<Node> into) {
    into.add(this);
    children.values().forEach(child -> child.collect(into));
  }

  boolean isSubtree() {
    return task == null;
  }

  boolean running() {
    return run != null && !run.ended;
  }

  boolean contains(Node other) {
    for (Node at = other; at != null; at = at.parent) {
      if (at == this) {
        return true;
      }
    }
    return false;
  }

  Optional<String> holderOf(String childName) {
    if (children.containsKey(childName)) {
      return Optional.of("a child");
    }
    return reserved.contains(childName) ? Optional.of("a sub-log") : Optional.empty();
  }
}
