package dev.polis.ctl.session;

import dev.polis.wire.health.Condition;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Orders the statuses of a node: first the causes, then their victims, then the healthy ones.
 *
 * @param statuses of all organs and roles
 */
public record HealthRoots(List<Status> statuses) {

  public static HealthRoots of(GetHealthResponse health) {
    return new HealthRoots(health.getStatusesList());
  }

  private static List<Condition> troubles(Status status) {
    return status.getConditionsList().stream()
        .filter(condition -> condition.getLevel() != Level.LEVEL_UP)
        .toList();
  }

  /** Returns the troubles that an organ or a role is to blame for itself. */
  static List<Condition> own(Status status) {
    return troubles(status).stream().filter(condition -> condition.getBecauseCount() == 0).toList();
  }

  /** Returns the names of what an organ or a role suffers from. */
  public static Set<String> because(Status status) {
    Set<String> names = new TreeSet<>();
    status.getConditionsList().forEach(condition -> names.addAll(condition.getBecauseList()));
    return names;
  }

  /** Returns whether the work is done, well or with something to repair. */
  public static boolean works(Status status) {
    return status.getLevel() == Level.LEVEL_UP || status.getLevel() == Level.LEVEL_DEGRADED;
  }

  static boolean isRoot(Status status) {
    return !own(status).isEmpty();
  }

  public static boolean isVictim(Status status) {
    return !isRoot(status) && !troubles(status).isEmpty();
  }

  /**
   * Returns the roots of one organ or role: those that it suffers from, and itself if it is to
   * blame; none if it is well or unknown.
   */
  List<Status> rootsOf(String name) {
    Set<String> names = new TreeSet<>();
    for (Status status : statuses) {
      if (status.getName().equals(name) && !works(status)) {
        names.addAll(because(status));
        if (isRoot(status)) {
          names.add(name);
        }
      }
    }
    return statuses.stream().filter(status -> names.contains(status.getName())).toList();
  }

  /**
   * Returns the roots that do not work or that others suffer from, their victims, the other roots,
   * and the rest by name.
   */
  public List<Status> ordered() {
    Set<String> blamed = new TreeSet<>();
    statuses.stream()
        .filter(HealthRoots::isVictim)
        .forEach(victim -> blamed.addAll(because(victim)));
    return statuses.stream()
        .sorted(
            Comparator.comparingInt((Status status) -> place(status, blamed))
                .thenComparing(worstFirst()))
        .toList();
  }

  private static int place(Status status, Set<String> blamed) {
    if (isRoot(status)) {
      return works(status) && !blamed.contains(status.getName()) ? 2 : 0;
    }
    return isVictim(status) ? 1 : 3;
  }

  private static Comparator<Status> worstFirst() {
    return Comparator.comparingInt(Status::getLevelValue)
        .reversed()
        .thenComparing(status -> status.getSince().getSeconds());
  }
}
