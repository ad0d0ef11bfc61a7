package dev.polis.health;

import dev.polis.supervision.RunState;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Supervisor;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Derives conditions from the runnables of a supervision subtree. */
final class SupervisedHealth {
  static final String FAILED = "runnable-failed";
  static final String STARTING = "runnable-starting";
  static final String OVERDUE = "runnable-overdue";

  private static final String READ_THE_LOG = "see its log: polisctl node logs --dn ";

  /** The other way to the log, since a node serves it to members only while it is HOME. */
  private static final String BEFORE_HOME = " (before the node is HOME: polisctl debug logs)";

  /** The time after which a starting runnable is late, and this class examines its thread. */
  static final Duration LATE = Duration.ofSeconds(5);

  /** Holds a condition and the time at which it appeared. */
  record Dated(HealthCondition condition, Instant since) {}

  private SupervisedHealth() {}

  /** Returns the position of a late runnable's thread; unknown for other runnables. */
  static Standing standing(RunnableStatus runnable, Supervisor supervisor, Instant now) {
    boolean late = runnable.state() == RunState.NEW && !runnable.since().plus(LATE).isAfter(now);
    return late ? new Standing(supervisor.stack(runnable.dn())) : Standing.UNKNOWN;
  }

  /** Returns whether a runnable belongs to a subtree. */
  static boolean isBelow(String dn, RunnableStatus runnable) {
    // Makes no text: each change in the tree compares every runnable with every scope.
    String at = runnable.dn();
    return !dn.isEmpty()
        && at.startsWith(dn)
        && (at.length() == dn.length() || at.charAt(dn.length()) == '.');
  }

  /**
   * Derives the condition of one runnable; empty if there is none.
   *
   * @param standing the position of its thread, if it is late
   */
  static Optional<Dated> condition(RunnableStatus runnable, Standing standing) {
    return found(runnable, standing).map(condition -> new Dated(condition, runnable.since()));
  }

  private static Optional<HealthCondition> found(RunnableStatus runnable, Standing standing) {
    if (runnable.overdue()) {
      return Optional.of(
          HealthCondition.degraded(
              OVERDUE,
              runnable.dn() + " was asked to stop and has not returned",
              "the log of " + runnable.dn() + " names the line of code it is at"));
    }
    return switch (runnable.state()) {
      case DEAD -> Optional.of(failed(runnable, "it will be started again"));
      case NEW -> Optional.of(starting(runnable, standing));
      // A cancelled runnable fell with another one, which is DEAD and has the reason.
      case HEALTHY, DONE, CANCELED, STOPPING -> Optional.empty();
    };
  }

  /**
   * Returns the condition of a starting runnable; after a failure it is as bad as the failure until
   * the run is healthy.
   */
  private static HealthCondition starting(RunnableStatus runnable, Standing standing) {
    if (runnable.lastError().isEmpty()) {
      return HealthCondition.waiting(
          STARTING, runnable.dn() + " was started and does not work yet" + standing.words());
    }
    // The failure tells more than the position of the thread, which "explain" of the runnable
    // shows.
    return failed(runnable, "it was started again and does not work yet");
  }

  private static HealthCondition failed(RunnableStatus runnable, String now) {
    return HealthCondition.down(
        FAILED,
        "%s has failed: %s; %s".formatted(runnable.dn(), error(runnable), now),
        remedy(runnable));
  }

  /** Returns the known remedy against a failure; if there is none, the advice to read the log. */
  static String remedy(RunnableStatus runnable) {
    return Remedies.of(error(runnable)).orElseGet(() -> readTheLog(runnable.dn()));
  }

  /** Returns the advice for an unknown failure. */
  static String readTheLog(String dn) {
    return READ_THE_LOG + dn + BEFORE_HOME;
  }

  /** Returns whether a remedy is the advice to read the log. */
  static boolean isVague(String remedy) {
    return remedy.startsWith(READ_THE_LOG);
  }

  /** Returns the reason of a runnable's failure as text for people. */
  static String error(RunnableStatus runnable) {
    return runnable.lastError().isEmpty()
        ? "it did not say why"
        : PlainWords.of(runnable.lastError());
  }
}
