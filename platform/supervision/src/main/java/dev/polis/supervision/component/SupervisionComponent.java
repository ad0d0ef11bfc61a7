package dev.polis.supervision.component;

import dev.polis.base.boot.BootReport;
import dev.polis.base.values.Value;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import dev.polis.supervision.Supervisor;
import dev.polis.supervision.TransitionListener;
import java.util.List;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Opens the node's supervision tree, and closes it with this component. */
@Component(immediate = true)
public final class SupervisionComponent implements Supervisor {
  private final BootReport boot;
  private final SupervisionTree tree;

  /**
   * Opens the tree.
   *
   * @param boot knows the reason of the deactivation
   * @param logs receives the entries of the runnables
   */
  @Activate
  public SupervisionComponent(@Reference BootReport boot, @Reference LogTree logs) {
    this.boot = boot;
    tree = SupervisionTree.open(logs);
  }

  @Override
  public Subtree organ(String name) {
    return tree.organ(name);
  }

  @Override
  public Value<List<RunnableStatus>> runnables() {
    return tree.runnables();
  }

  @Override
  public List<StackTraceElement> stack(String dn) {
    return tree.stack(dn);
  }

  @Override
  public Registration listen(TransitionListener listener) {
    return tree.listen(listener);
  }

  /** Stops all runnables; organs have closed their subtrees before. */
  @Deactivate
  public void close() {
    tree.close(boot.stopReason());
  }
}
