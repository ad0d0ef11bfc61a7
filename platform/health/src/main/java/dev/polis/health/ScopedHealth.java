package dev.polis.health;

import dev.polis.health.SupervisedHealth.Dated;
import dev.polis.supervision.RunnableStatus;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Joins the published conditions of an organ or a role with those of its runnables, so that each
 * cause appears once and has its remedy.
 *
 * @param name the name of the organ or role
 * @param kind organ or role
 * @param dns its subtrees
 * @param published its own conditions
 * @param opened the time at which it was opened
 */
record ScopedHealth(
    String name, HealthKind kind, List<String> dns, List<Dated> published, Instant opened) {

  /** Begins the remedy of a trouble that the node mends itself, if nothing outside hinders it. */
  private static final String NOTHING = "nothing: ";

  private static final Comparator<Dated> WORST_FIRST =
      Comparator.comparing((Dated each) -> each.condition().level())
          .reversed()
          .thenComparing(Dated::since);

  /**
   * Returns the status.
   *
   * @param runnables all runnables of the node
   * @param places the owner of each subtree, by the distinguished name of its top
   * @param standing returns the position of a runnable's thread
   */
  HealthStatus status(
      List<RunnableStatus> runnables,
      Map<String, String> places,
      Function<RunnableStatus, Standing> standing) {
    List<Dated> all = new ArrayList<>(published);
    for (RunnableStatus runnable : runnables) {
      if (contains(runnable)) {
        SupervisedHealth.condition(runnable, standing.apply(runnable))
            .ifPresent(found -> add(found, runnable, owner(runnable, places), all));
      }
    }
    if (all.isEmpty()) {
      return HealthStatus.up(name, kind, opened);
    }
    all.sort(WORST_FIRST);
    return HealthStatus.of(
        name,
        kind,
        all.getFirst().since(),
        withoutVagueRemedies(
            all.stream().map(Dated::condition).distinct().map(this::remedied).toList()));
  }

  private boolean contains(RunnableStatus runnable) {
    for (String dn : dns) {
      if (SupervisedHealth.isBelow(dn, runnable)) {
        return true;
      }
    }
    return false;
  }

  /** Omits the advice to read the log, or to wait, if the organ's own condition has a remedy. */
  private static List<HealthCondition> withoutVagueRemedies(List<HealthCondition> conditions) {
    boolean known =
        conditions.stream()
            .anyMatch(
                each ->
                    each.level() == HealthLevel.DOWN
                        && !each.remedy().isEmpty()
                        && !SupervisedHealth.isVague(each.remedy()));
    return conditions.stream()
        .map(each -> known && isIdle(each) ? each.withRemedy("") : each)
        .toList();
  }

  private static boolean isIdle(HealthCondition condition) {
    return SupervisedHealth.isVague(condition.remedy())
        || condition.level() == HealthLevel.DEGRADED && condition.remedy().startsWith(NOTHING);
  }

  /** Returns the owner of the smallest subtree that contains a runnable. */
  private static Optional<String> owner(RunnableStatus runnable, Map<String, String> places) {
    return places.keySet().stream()
        .filter(dn -> SupervisedHealth.isBelow(dn, runnable))
        .max(Comparator.comparingInt(String::length))
        .map(places::get);
  }

  private void add(
      Dated found, RunnableStatus runnable, Optional<String> owner, List<Dated> conditions) {
    HealthCondition condition = found.condition();
    if (owner.isPresent() && !owner.get().equals(name)) {
      conditions.add(new Dated(condition.dueTo(owner.get()), found.since()));
      return;
    }
    if (condition.level() != HealthLevel.DOWN || runnable.lastError().isEmpty()) {
      conditions.add(found);
      return;
    }
    String error = SupervisedHealth.error(runnable);
    Optional<Dated> told =
        conditions.stream().filter(each -> each.condition().reason().contains(error)).findFirst();
    if (told.isEmpty()) {
      conditions.add(found);
    } else if (condition.level().worseThan(told.get().condition().level())) {
      // The organ's own text for the failure is clearer, and keeps the severity of the failure.
      conditions.remove(told.get());
      conditions.add(new Dated(told.get().condition().at(condition.level()), told.get().since()));
    }
  }

  /**
   * Adds a remedy to a trouble. A known remedy of the cause precedes "nothing" and the general
   * advice to read the log.
   */
  private HealthCondition remedied(HealthCondition condition) {
    boolean another = !condition.dueTo().isEmpty() && !condition.dueTo().contains(name);
    boolean idle = condition.remedy().startsWith(NOTHING);
    if (condition.level() == HealthLevel.UP || another || !idle && !condition.remedy().isEmpty()) {
      return condition;
    }
    Optional<String> known =
        idle ? Remedies.known(condition.reason()) : Remedies.of(condition.reason());
    if (known.isPresent() || idle || condition.level() == HealthLevel.WAITING || dns.isEmpty()) {
      return known.map(condition::withRemedy).orElse(condition);
    }
    return condition.withRemedy(SupervisedHealth.readTheLog(dns.getFirst()));
  }
}
