package dev.polis.handover;

import dev.polis.base.backoff.Uninterrupted;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Calls an instance of an organ on a thread of its own, and waits a limited time. */
final class InstanceCall {

  /** The time of an overdue call to end after its interrupt. */
  static final Duration AFTER_INTERRUPT = Duration.ofMillis(500);

  /** Names what an instance is asked to do. */
  enum Request {
    TELL("tell its state to the next"),
    GIVE("give its state to the next"),
    PREPARE("prepare to take its state back"),
    RESUME("take its state back");

    private final String words;

    Request(String words) {
      this.words = words;
    }
  }

  /** Does what is asked of the instance. */
  @FunctionalInterface
  interface Step {
    OrganState run() throws InterruptedException;
  }

  /** Says how a call ended, or that its caller no longer waits. */
  private sealed interface Outcome {
    record Open() implements Outcome {}

    record Returned(OrganState state) implements Outcome {}

    record Thrown(Throwable failure, String text) implements Outcome {}

    record Unwanted() implements Outcome {}
  }

  private final String organ;
  private final Request request;
  private final Step step;
  private final AtomicReference<Outcome> outcome = new AtomicReference<>(new Outcome.Open());
  private Consumer<OrganState> late = state -> {};
  private volatile Thread thread; // null until it is made

  InstanceCall(String organ, Request request, Step step) {
    this.organ = organ;
    this.request = request;
    this.step = step;
  }

  /** Stands for a call that was never made. */
  static InstanceCall none() {
    return new InstanceCall("", Request.TELL, () -> OrganState.NONE);
  }

  /** Returns whether the instance has not returned from this call. */
  boolean isRunning() {
    Thread running = thread;
    return running != null && running.isAlive();
  }

  /**
   * Waits for the end of this call, and drops an interrupt, which is meant for the caller's own
   * work.
   */
  void awaitEnd() {
    while (isRunning()) {
      Uninterrupted.join(thread, AFTER_INTERRUPT);
      Thread.interrupted();
    }
  }

  @Override
  public String toString() {
    return "it has to " + request.words;
  }

  /** Names the receiver of a state that comes after the caller has stopped waiting. */
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
    if (!Uninterrupted.join(thread, time)) {
      thread.interrupt();
      Uninterrupted.join(thread, AFTER_INTERRUPT);
    }
    Outcome last =
        outcome.getAndUpdate(now -> now instanceof Outcome.Open ? new Outcome.Unwanted() : now);
    return switch (last) {
      case Outcome.Returned(OrganState state) -> state;
      case Outcome.Thrown(InterruptedException _, String _) -> throw tooLate(time);
      case Outcome.Thrown(Throwable failure, String text) ->
          throw new HandOverException(
              "the instance of %s that runs failed to %s: %s".formatted(organ, request.words, text),
              failure);
      case Outcome.Open _, Outcome.Unwanted _ -> throw tooLate(time);
    };
  }

  private HandOverException tooLate(Duration time) {
    return new HandOverException(
        "the instance of %s that runs did not %s within %d ms; it stays in charge. If it hangs, stop it before the new one is started"
            .formatted(organ, request.words, time.toMillis()));
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
      // Any failure of the instance. Its text is made here, because it is code of the instance.
      Outcome thrown = new Outcome.Thrown(failure, text(failure));
      outcome.getAndUpdate(now -> now instanceof Outcome.Open ? thrown : now);
    }
  }

  /** Returns the text of a failure; the name of its class if making the text fails, too. */
  static String text(Throwable failure) {
    try {
      return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    } catch (Throwable unreadable) {
      return failure.getClass().getName();
    }
  }
}
