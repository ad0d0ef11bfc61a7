package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Holds the status of the runtime. Runs write it, the service reads it. Thread-safe. */
final class ContainersState {

  private final MutableValue<ContainersStatus> status =
      new MutableValue<>(new ContainersStatus.Stopped());

  /** True to keep the published status until a run serves or has failed. */
  private boolean quiet;

  private boolean serving;

  Value<ContainersStatus> status() {
    return status;
  }

  ContainersStatus now() {
    return status.peek().orElseThrow();
  }

  /** Publishes the event for which the start of the runtime waits. */
  synchronized void starting(String waitingFor) {
    if (!quiet) {
      status.set(new ContainersStatus.Starting(waitingFor));
    }
  }

  /** Publishes that the runtime serves. */
  synchronized void serve(ContainersStatus.Running running) {
    serving = true;
    quiet = false;
    if (!now().equals(running)) {
      status.set(running);
    }
    notifyAll();
  }

  /** Ends the service of a run; returns whether the run had served. */
  synchronized boolean endRun() {
    boolean served = serving;
    serving = false;
    return served;
  }

  /** Publishes the reason for the end of a run. */
  synchronized void publish(ContainersStatus end) {
    quiet = false;
    status.set(end);
    notifyAll();
  }

  /** Publishes the status of another instance, and keeps it until a run serves or fails. */
  synchronized void goOn(ContainersStatus published) {
    quiet = true;
    if (!status.peek().equals(Optional.of(published))) {
      status.set(published);
    }
  }

  /** Waits until a run serves or has failed; returns whether one serves. */
  synchronized boolean awaitServing(Duration within) throws InterruptedException {
    long end = System.nanoTime() + within.toNanos();
    while (quiet && System.nanoTime() < end) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    return serving;
  }

  /** Publishes that the runtime is stopped. */
  synchronized void clear() {
    serving = false;
    quiet = false;
    status.set(new ContainersStatus.Stopped());
  }

  /**
   * Returns the serving runtime.
   *
   * @throws ContainersException if none does
   */
  ContainersStatus.Running running() {
    return switch (now()) {
      case ContainersStatus.Running running -> running;
      case ContainersStatus other ->
          throw new ContainersException(other.text() + "; wait until its status is Running");
    };
  }
}
