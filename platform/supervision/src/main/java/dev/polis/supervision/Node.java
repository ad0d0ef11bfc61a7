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
 * Holds the state of one place in the tree: a runnable with its task, or a subtree without a task.
 * The tree's lock guards all changing fields.
 */
final class Node {

  /** Holds the history of a child while its parent restarts. */
  record Past(long restarts, String lastError, Map<String, Past> children) {}

  final String name;
  final String dn;
  final int depth;
  final Group group;
  final RestartDelay restartDelay;

  /** Null for a subtree. */
  final Task task;

  /** The parent; null for the root and an abandoned node. */
  Node parent;

  /** The children in the order of their start. */
  final SequencedMap<String, Node> children = new LinkedHashMap<>();

  final Set<String> reserved = new HashSet<>();
  Map<String, Past> past = Map.of();

  RunState state = RunState.DEAD;
  Instant since = Instant.EPOCH;
  long restarts;
  String lastError = "";
  final SameFailure same = new SameFailure();

  /** The latest run; null before the first and for a subtree. */
  Run run;

  /** The number of this node's own thread and of its live children. */
  int live;

  /** True if the latest run was interrupted, or had ended when this node was cancelled. */
  boolean cancelled;

  /** True if the node must not start again; its cancellation waits for its turn. */
  boolean stopping;

  /** The cause of the stop; null until the node is cancelled or stopping. */
  Cause cause;

  /** The earliest monotonic time of the next start. */
  long notBefore;

  NextRestart restart = new NextRestart.None();

  /** The alarm of a scheduled restart; does nothing without one. */
  Timer.Alarm alarm = () -> {};

  /** True while the node closes; it leaves the tree as soon as it is quiet. */
  boolean closing;

  /** True after the node has left the tree; listeners get no further changes of it. */
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

  /** Returns this node and its descendants, parents first. */
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
