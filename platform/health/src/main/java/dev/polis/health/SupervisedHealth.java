package dev.polis.health;

import dev.polis.supervision.RunnableStatus;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Derives conditions from the runnables of a supervision subtree. */
final class SupervisedHealth {
  static final String FAILED = "runnable-failed";
  static final String STARTING = "runnable-starting";
  static final String OVERDUE = "runnable-overdue";

  /** A condition and when it came about. */
  record Dated(HealthCondition condition, Instant since) {}

  private SupervisedHealth() {}

  /**
   * Derives the conditions of one subtree.
   *
   * @param dn its distinguished name; empty for none
   * @param runnables all runnables of the node
   */
  static Stream<Dated> conditions(String dn, List<RunnableStatus> runnables) {
    if (dn.isEmpty()) {
      return Stream.empty();
    }
    return runnables.stream()
        .filter(each -> each.dn().equals(dn) || each.dn().startsWith(dn + "."))
        .flatMap(each -> condition(each).map(found -> new Dated(found, each.since())).stream());
  }

  private static Optional<HealthCondition> condition(RunnableStatus runnable) {
    if (runnable.overdue()) {
      return Optional.of(
          HealthCondition.degraded(
              OVERDUE,
              runnable.dn() + " was told to stop and has not returned",
              "the log of " + runnable.dn() + " names the line of code it is at"));
    }
    return switch (runnable.state()) {
      case DEAD -> Optional.of(failed(runnable, "it will be started again"));
      case NEW -> Optional.of(starting(runnable));
      // A cancelled runnable fell with another one, which is DEAD and says why.
      case HEALTHY, DONE, CANCELED, STOPPING -> Optional.empty();
    };
  }

  /** A run that follows a failure is not better than the failure until it is healthy. */
  private static HealthCondition starting(RunnableStatus runnable) {
    if (runnable.lastError().isEmpty()) {
      return HealthCondition.waiting(
          STARTING, runnable.dn() + " was started and does not work yet");
    }
    return failed(runnable, "it was started again and does not work yet");
  }

  private static HealthCondition failed(RunnableStatus runnable, String now) {
    String error = runnable.lastError().isEmpty() ? "it did not say why" : runnable.lastError();
    return HealthCondition.down(
        FAILED,
        "%s has failed: %s; %s".formatted(runnable.dn(), error, now),
        "see the log of " + runnable.dn());
  }
}
