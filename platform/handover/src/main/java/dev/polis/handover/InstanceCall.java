package dev.polis.handover;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Calls an instance of an organ on a thread of its own, and waits a limited time. */
final class InstanceCall {

  /** How long one whose time is up may take to end after its interrupt. */
  private static final Duration AFTER_INTERRUPT = Duration.ofMillis(500);

  /** Does what is asked of the instance. */
  @FunctionalInterface
  interface Step {
    OrganState run() throws InterruptedException;
  }

  /** Says how a call ended, or that nobody waits for it any more. */
  private sealed interface Outcome {
    record Open() implements Outcome {}

    record Returned(OrganState state) implements Outcome {}

    record Thrown(Throwable failure) implements Outcome {}

    record Unwanted() implements Outcome {}
  }

  private final String organ;
  private final String what;
  private final Step step;
  private final AtomicReference<Outcome> outcome = new AtomicReference<>(new Outcome.Open());
  private Consumer<OrganState> late = state -> {};
  private volatile Thread thread; // null until it is made

  InstanceCall(String organ, String what, Step step) {
    this.organ = organ;
    this.what = what;
    this.step = step;
  }

  /** Stands for a call that was never made. */
  static InstanceCall none() {
    return new InstanceCall("", "nothing", () -> OrganState.NONE);
  }

  /** Returns whether the instance has not returned from this call. */
  boolean isRunning() {
    Thread running = thread;
    return running != null && running.isAlive();
  }

  @Override
  public String toString() {
    return "it has to " + words();
  }

  /** Says who gets a state for which nobody waits any more. */
  InstanceCall orLate(Consumer<OrganState> receiver) {
    late = receiver;
    return this;
  }

  /**
   * Makes the call.
   *
   * @throws HandOverException if the instance throws, or has not returned in time
   */
  OrganState within(Duration time) {
    thread = Thread.ofVirtual().name("hand-over of " + organ).start(this::run);
    if (!join(thread, time)) {
      thread.interrupt();
      join(thread, AFTER_INTERRUPT);
    }
    Outcome last =
        outcome.getAndUpdate(now -> now instanceof Outcome.Open ? new Outcome.Unwanted() : now);
    return switch (last) {
      case Outcome.Returned(OrganState state) -> state;
      case Outcome.Thrown(InterruptedException _) -> throw tooLate(time);
      case Outcome.Thrown(Throwable failure) ->
          throw new HandOverException(
              "the instance of %s that runs failed to %s: %s"
                  .formatted(
                      organ,
                      words(),
                      failure.getMessage() == null ? failure : failure.getMessage()),
              failure);
      case Outcome.Open _, Outcome.Unwanted _ -> throw tooLate(time);
    };
  }

  private HandOverException tooLate(Duration time) {
    return new HandOverException(
        "the instance of %s that runs did not %s within %d ms; it stays in charge. If it hangs, stop it before the new one is started"
            .formatted(organ, words(), time.toMillis()));
  }

  private String words() {
    return switch (what) {
      case "give" -> "give its state to the next";
      case "resume" -> "take its state back";
      case "prepare" -> "prepare to take its state back";
      default -> "tell its state to the next";
    };
  }

  private void run() {
    try {
      OrganState state = step.run();
      Outcome before =
          outcome.getAndUpdate(
              now -> now instanceof Outcome.Open ? new Outcome.Returned(state) : now);
      if (before instanceof Outcome.Unwanted) {
        late.accept(state);
      }
    } catch (Throwable failure) {
      // Everything: it is the instance's failure, and whoever waits for it words it.
      outcome.getAndUpdate(now -> now instanceof Outcome.Open ? new Outcome.Thrown(failure) : now);
    }
  }

  /** Waits for a thread; an interrupted caller waits all the same and keeps its interrupt. */
  private static boolean join(Thread thread, Duration time) {
    long end = System.nanoTime() + time.toNanos();
    boolean interrupted = false;
    boolean ended = false;
    while (!ended && System.nanoTime() < end) {
      try {
        ended = thread.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())));
      } catch (InterruptedException hurried) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return ended || !thread.isAlive();
  }
}
