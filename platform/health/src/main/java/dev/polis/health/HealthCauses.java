package dev.polis.health;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Follows the organs that an organ needs, to find which of them is the root of a trouble. */
final class HealthCauses {
  private final Map<String, HealthStatus> organs;
  private final Function<String, Set<String>> needs;

  /** The reasons that roles give themselves. */
  private final Set<String> ofRoles;

  /**
   * Looks at one moment.
   *
   * @param statuses of all organs and roles
   * @param needs tells which organs an organ needs
   */
  HealthCauses(Collection<HealthStatus> statuses, Function<String, Set<String>> needs) {
    this.organs =
        statuses.stream()
            .filter(status -> status.kind() == HealthKind.ORGAN)
            .collect(
                Collectors.toMap(
                    HealthStatus::name, Function.identity(), (first, second) -> first));
    this.needs = needs;
    this.ofRoles =
        statuses.stream()
            .filter(status -> status.kind() == HealthKind.ROLE)
            .flatMap(status -> status.conditions().stream())
            .map(HealthCondition::reason)
            .collect(Collectors.toSet());
  }

  /** Returns a status, then those of the organs below it that do not work, the deepest last. */
  List<HealthStatus> chain(HealthStatus status) {
    Set<HealthStatus> found = new LinkedHashSet<>();
    follow(status, found);
    return status.kind() == HealthKind.ROLE
        ? found.stream().flatMap(each -> each == status ? Stream.of(each) : ownPart(each)).toList()
        : List.copyOf(found);
  }

  /**
   * Returns the status of an organ without what it has from roles: the organ that runs roles fails
   * with each of them, and of one role another one is no cause.
   */
  private Stream<HealthStatus> ownPart(HealthStatus organ) {
    List<HealthCondition> own =
        organ.conditions().stream()
            .filter(condition -> !ofRoles.contains(condition.reason()))
            .toList();
    return own.isEmpty()
        ? Stream.empty()
        : Stream.of(HealthStatus.of(organ.name(), organ.kind(), organ.since(), own));
  }

  private void follow(HealthStatus status, Set<HealthStatus> found) {
    if (found.add(status) && !status.level().works()) {
      broken(status).forEach(each -> follow(each, found));
    }
  }

  /** Whether nothing that a status needs is to blame for it. */
  boolean isRoot(HealthStatus status) {
    return broken(status).isEmpty();
  }

  /**
   * Returns the organs right below one that do not work. A role needs the organ that runs roles.
   */
  private List<HealthStatus> broken(HealthStatus status) {
    Set<String> below =
        status.kind() == HealthKind.ROLE ? Set.of("roles") : needs.apply(status.name());
    List<HealthStatus> broken = new ArrayList<>();
    for (String name : below) {
      HealthStatus organ = organs.get(name);
      if (organ != null && organ != status && !organ.level().works()) {
        broken.add(organ);
      }
    }
    return broken;
  }
}
