package dev.polis.cluster;

import dev.polis.base.boot.StopReason;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Task;
import java.util.Map;
import java.util.Optional;

/** Stands outside any supervision tree: the manager needs only its log. */
record TestContext(Log log) implements Context {

  @Override
  public String dn() {
    return log.dn();
  }

  @Override
  public Log subLog(String name) {
    return log;
  }

  @Override
  public void healthy() {}

  @Override
  public void done() {}

  /** Ignores runnables of the manager, which have tests of their own. */
  @Override
  public void run(String name, Task task) {}

  @Override
  public void group(Map<String, Task> tasks) {
    throw new AssertionError("the manager starts no children");
  }

  @Override
  public Subtree subtree(String name) {
    throw new AssertionError("the manager starts no children");
  }

  @Override
  public boolean cancelled() {
    return Thread.currentThread().isInterrupted();
  }

  @Override
  public Optional<StopReason> stopReason() {
    return Optional.empty();
  }

  @Override
  public void awaitCancelled() throws InterruptedException {
    new java.util.concurrent.CountDownLatch(1).await();
  }
}
