package dev.polis.supervision;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;

/**
 * Adds nodes to a tree after a check of their names, their number and their depth. Its callers hold
 * the tree's lock.
 */
final class TreeGrowth {
  /**
   * The greatest depth: more than a useful DN has, and far less than the stack of a thread that
   * walks the tree allows.
   */
  static final int DEEPEST = 64;

  /**
   * The most children of a node: some hundreds are normal, and the limit stops endless starts
   * before memory runs out.
   */
  static final int MOST_CHILDREN = 4_096;

  private final DoubleSupplier random;

  /**
   * @param random spreads the delays of restarts
   */
  TreeGrowth(DoubleSupplier random) {
    this.random = random;
  }

  /** Returns the root of a new tree. */
  Node root() {
    return new Node(null, "root", null, new Group(), new RestartDelay(random));
  }

  /** Adds a node for each task, all in one new group, and starts none. */
  Group addGroup(Node parent, Map<String, Task> tasks) {
    if (tasks.isEmpty()) {
      throw new SupervisionException(
          "a group under %s has no members: name at least one".formatted(parent.dn));
    }
    tasks.forEach((name, task) -> Objects.requireNonNull(task, () -> "no task for " + name));
    tasks.keySet().forEach(name -> requireFree(parent, name));
    requireRoom(parent, tasks.size());
    Group group = new Group();
    tasks.forEach((name, task) -> addNode(parent, name, task, group));
    return group;
  }

  /** Adds a subtree. */
  Node addBranch(Node parent, String name) {
    requireFree(parent, name);
    requireRoom(parent, 1);
    return addNode(parent, name, null, new Group());
  }

  /** Adds the subtree of an organ, under the first free name if the name is taken. */
  Node addOrgan(Node root, String name) {
    Names.check(root.dn, name);
    requireRoom(root, 1);
    return addNode(root, Names.firstFree(name, root.children.keySet()), null, new Group());
  }

  private Node addNode(Node parent, String name, Task task, Group group) {
    Node node = new Node(parent, name, task, group, new RestartDelay(random));
    Node.Past past = parent.past.get(name);
    if (past != null) {
      node.restarts = past.restarts() + 1;
      node.lastError = past.lastError();
      node.past = past.children();
    }
    parent.children.put(name, node);
    return node;
  }

  /**
   * Moves a subtree below another one.
   *
   * @param release reduces the count of live children at the former parent
   * @param enliven increases the count at the new parent
   */
  void move(Node subtree, Node parent, Consumer<Node> release, Consumer<Node> enliven) {
    requireOpen(subtree);
    requireOpen(parent);
    if (subtree.parent == parent) {
      return;
    }
    if (subtree.contains(parent) || subtree.parent == null) {
      throw new SupervisionException(
          "%s cannot be moved into %s, which is a part of it".formatted(subtree.dn, parent.dn));
    }
    requireFree(parent, subtree.name);
    requireRoom(parent, 1);
    Node former = subtree.parent;
    former.children.remove(subtree.name);
    subtree.parent = parent;
    parent.children.put(subtree.name, subtree);
    if (subtree.live > 0) {
      enliven.accept(parent);
      release.accept(former);
    }
  }

  /** Refuses a name that is malformed, or that belongs to a child or a sub-log. */
  static void requireFree(Node parent, String name) {
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

  /** Refuses a closed or stopping subtree. */
  static void requireOpen(Node subtree) {
    if (subtree.closing || subtree.removed) {
      throw new SupervisionException(
          "%s is closed, nothing can be started in it: open another subtree".formatted(subtree.dn));
    }
    if (subtree.cancelled || subtree.stopping) {
      throw new CancellationException(
          "subtree %s: %s".formatted(subtree.dn, subtree.cause.reason()));
    }
  }
}
