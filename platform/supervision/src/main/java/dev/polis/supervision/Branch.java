package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Gives the opener of a subtree its methods. */
record Branch(SupervisionTree tree, Node node) implements Subtree {

  @Override
  public String dn() {
    return node.dn;
  }

  @Override
  public void run(String name, Task task) {
    group(Map.of(name, task));
  }

  @Override
  public void group(Map<String, Task> tasks) {
    tree.addGroup(node, tasks);
  }

  @Override
  public Subtree subtree(String name) {
    return tree.addSubtree(node, name);
  }

  @Override
  public void moveTo(Subtree parent) {
    if (!(parent instanceof Branch(SupervisionTree other, Node to)) || other != tree) {
      throw new SupervisionException(
          "%s cannot be moved to %s, which belongs to another tree".formatted(this, parent));
    }
    tree.move(node, to);
  }

  @Override
  public List<String> close(StopReason reason) {
    return close(reason, PATIENCE);
  }

  @Override
  public List<String> close(StopReason reason, Duration patience) {
    return tree.stop(node, reason, patience);
  }

  @Override
  public String toString() {
    return "Subtree[" + node.dn + "]";
  }
}
