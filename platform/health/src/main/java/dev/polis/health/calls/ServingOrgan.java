package dev.polis.health.calls;

import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcListenerStatus;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.supervision.Task;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Holds what an organ has that only answers calls: its subtree, its health, and the streams of its
 * calls. Its creator closes it, after its services were unregistered.
 */
public final class ServingOrgan {
  private final Subtree subtree;
  private final HealthScope scope;
  private final CallStreams streams = new CallStreams();

  /**
   * Opens the organ's subtree and begins to publish its health.
   *
   * @param name the organ's name
   */
  public ServingOrgan(String name, Supervisor supervisor, HealthRegistry health) {
    this.subtree = supervisor.organ(name);
    this.scope = health.organ(name, subtree.dn());
  }

  /** Returns the name of the subtree, under which the organ logs. */
  public String dn() {
    return subtree.dn();
  }

  /** Returns the streams of the organ's calls, which end when it is closed. */
  public CallStreams streams() {
    return streams;
  }

  /** Publishes one fact about the organ's health. */
  public void publish(HealthCondition condition) {
    scope.set(condition);
  }

  /**
   * Publishes from now on whether the listener that the organ serves on is open.
   *
   * @param listeners the state of all listeners
   * @param judge tells what is wrong with the one, such as {@link ListenerHealth#encrypted}
   */
  public void follow(
      Value<List<RpcListenerStatus>> listeners,
      Function<List<RpcListenerStatus>, Optional<HealthCondition>> judge) {
    subtree.run("health", StatusHealth.task(listeners, scope, judge));
  }

  /**
   * Looks again and again at something of the node itself, and publishes what is wrong with it.
   *
   * @param name of the runnable below the organ
   * @param look what to look at
   */
  public void look(String name, SelfCheck.Look look) {
    subtree.run(name, SelfCheck.task(scope, look));
  }

  /**
   * Runs a task of the organ under supervision, until the organ is closed.
   *
   * @param name its name below the organ
   * @param task what it does
   */
  public void run(String name, Task task) {
    subtree.run(name, task);
  }

  /** Ends the streams that are still open, and the organ's runnables. */
  public void close(StopReason reason) {
    scope.close();
    streams.close();
    subtree.close(reason);
  }
}
