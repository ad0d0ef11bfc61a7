package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.logtree.LogTree;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;

/**
 * Opens a supervision tree: for the component of that name, for tests, and for programs without a
 * framework.
 */
public final class SupervisionTree implements Supervisor, AutoCloseable {
  private final Tree tree;

  private SupervisionTree(LogTree logs, Timer timer, DoubleSupplier random) {
    tree = new Tree(logs, timer, random);
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

  @Override
  public Subtree organ(String name) {
    return tree.addOrgan(name);
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

  /** Closes the tree as {@link #close(StopReason)} does, since the process restarts. */
  @Override
  public void close() {
    close(StopReason.PROCESS_RESTART);
  }

  /**
   * Stops all runnables, waits {@link Subtree#PATIENCE} at most, and ends the tree's own thread.
   *
   * @param reason the reason
   */
  public void close(StopReason reason) {
    tree.close(reason, Subtree.PATIENCE);
  }
}
