package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import dev.polis.logtree.Log;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** Runs the task of a node once. */
final class Run implements Context {
  final Node node;
  final Thread thread;
  final CountDownLatch cancellation = new CountDownLatch(1);

  // Guarded by the tree's lock.
  boolean doneSignalled;
  boolean ended;
  boolean overdue;
  long cancelledAt;
  long nextReminder;

  /** The reason of a final stop, or null; set before the interrupt, read without the lock. */
  volatile StopReason stopReason;

  private final SupervisionTree tree;

  Run(SupervisionTree tree, Node node) {
    this.tree = tree;
    this.node = node;
    thread = Thread.ofVirtual().name(node.dn).unstarted(() -> tree.execute(this));
  }

  @Override
  public String dn() {
    return node.dn;
  }

  @Override
  public Log log() {
    return tree.logs().log(node.dn);
  }

  @Override
  public Log subLog(String name) {
    return tree.subLog(this, name);
  }

  @Override
  public void healthy() {
    tree.healthy(this);
  }

  @Override
  public void done() {
    tree.done(this);
  }

  @Override
  public void run(String name, Task task) {
    group(Map.of(name, task));
  }

  @Override
  public void group(Map<String, Task> tasks) {
    tree.addGroup(this, tasks);
  }

  @Override
  public Subtree subtree(String name) {
    return tree.addSubtree(this, name);
  }

  @Override
  public boolean cancelled() {
    return cancellation.getCount() == 0;
  }

  @Override
  public Optional<StopReason> stopReason() {
    return Optional.ofNullable(stopReason);
  }

  @Override
  public void awaitCancelled() throws InterruptedException {
    cancellation.await();
    if (Thread.currentThread() == thread) {
      // The interrupt came a moment too late to end the wait, so this clears it. So the task always
      // sees the same: an exception, and no interrupt that would hit its cleanup.
      Thread.interrupted();
      throw new InterruptedException(dn() + " is cancelled");
    }
  }
}
