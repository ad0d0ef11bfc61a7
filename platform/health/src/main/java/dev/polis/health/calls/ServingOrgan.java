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
 * Holds the subtree, the health and the streams of an organ that only answers calls. Its creator
 * closes it, after its services were unregistered.
 */
public final class ServingOrgan {
  private final Subtree subtree;
  private final HealthScope scope;
  private final CallStreams streams = new CallStreams();

  /**
   * Opens the organ's subtree and its health scope.
   *
   * @param name the organ's name
   */
  public ServingOrgan(String name, Supervisor supervisor, HealthRegistry health) {
    this.subtree = supervisor.organ(name);
    this.scope = health.organ(name, subtree.dn());
  }

  /** Returns the name of the subtree, which is also the name of the organ's log. */
  public String dn() {
    return subtree.dn();
  }

  /** Returns the streams of the organ's calls, which end with the organ. */
  public CallStreams streams() {
    return streams;
  }

  /** Publishes one fact about the organ's health. */
  public void publish(HealthCondition condition) {
    scope.set(condition);
  }

  /**
   * Publishes from now on whether the organ's listener is open.
   *
   * @param listeners the state of all listeners
   * @param judge returns the fault of this one, such as {@link ListenerHealth#encrypted}
   */
  public void follow(
      Value<List<RpcListenerStatus>> listeners,
      Function<List<RpcListenerStatus>, Optional<HealthCondition>> judge) {
    subtree.run("health", StatusHealth.task(listeners, scope, judge));
  }

  /**
   * Checks a part of the node regularly, and publishes its faults.
   *
   * @param name the name of the runnable below the organ
   * @param look the check
   */
  public void look(String name, SelfCheck.Look look) {
    subtree.run(name, SelfCheck.task(scope, look));
  }

  /**
   * Runs a task of the organ under supervision until the organ is closed.
   *
   * @param name its name below the organ
   * @param task its work
   */
  public void run(String name, Task task) {
    subtree.run(name, task);
  }

  /** Ends the open streams and the organ's runnables. */
  public void close(StopReason reason) {
    scope.close();
    streams.close();
    subtree.close(reason);
  }
}
