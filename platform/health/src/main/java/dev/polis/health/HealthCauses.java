package dev.polis.health;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * Tells roots from victims at one moment. A trouble, which is a condition worse than UP, is blamed
 * on what it says it is due to; if it says nothing and the work is not done, on the needed organs
 * that do not work either. A trouble that can be blamed on none makes its organ or role a root.
 */
public final class HealthCauses {
  /** The organ that runs the roles, which each role needs. */
  private static final String OF_ROLES = "roles";

  private static final Comparator<HealthStatus> WORST_FIRST =
      Comparator.comparing(HealthStatus::level)
          .reversed()
          .thenComparing(HealthStatus::since)
          .thenComparing(HealthStatus::name);

  /** What the process or the disk runs out of, by the code of the condition that says so. */
  private static final Map<String, Pattern> USED_UP =
      Map.of(
          "descriptors-short", Pattern.compile("too many open files", Pattern.CASE_INSENSITIVE),
          "little-room",
              Pattern.compile(
                  "no space left on device|disk quota exceeded|file system of \\S+ is full",
                  Pattern.CASE_INSENSITIVE));

  private final Map<String, HealthStatus> byName = new LinkedHashMap<>();
  private final Function<String, Set<String>> needs;

  /**
   * Looks at one moment.
   *
   * @param statuses of all organs and roles
   * @param needs tells which organs an organ or a role needs
   */
  public HealthCauses(Collection<HealthStatus> statuses, Function<String, Set<String>> needs) {
    statuses.forEach(status -> byName.putIfAbsent(status.name(), status));
    this.needs = needs;
  }

  /** Returns the troubles of a status. */
  private static List<HealthCondition> troubles(HealthStatus status) {
    return status.conditions().stream()
        .filter(condition -> condition.level() != HealthLevel.UP)
        .toList();
  }

  /** Returns the troubles that a status is to blame for itself, the worst first. */
  List<HealthCondition> own(HealthStatus status) {
    List<HealthCondition> troubles = troubles(status);
    List<HealthCondition> own =
        troubles.stream().filter(trouble -> blamed(status, trouble).isEmpty()).toList();
    // Those that only blame each other have no root but themselves.
    return own.isEmpty() && rootsBelow(status).isEmpty() ? troubles : own;
  }

  /**
   * Returns the roots that a trouble of a status is due to.
   *
   * @param status one of those looked at
   * @param trouble one of its conditions
   * @return their names; empty if the status itself is to blame
   */
  public SortedSet<String> roots(HealthStatus status, HealthCondition trouble) {
    SortedSet<String> names = new TreeSet<>();
    for (HealthStatus below : blamed(status, trouble)) {
      if (isRoot(below)) {
        names.add(below.name());
      }
      rootsBelow(below).forEach(root -> names.add(root.name()));
    }
    names.remove(status.name());
    return names;
  }

  /** Returns whether a status has a trouble that it is to blame for itself. */
  boolean isRoot(HealthStatus status) {
    return !own(status).isEmpty();
  }

  /** Returns the roots of the whole node, those that do not work first, of equals the oldest. */
  List<HealthStatus> roots() {
    return byName.values().stream().filter(this::isRoot).sorted(WORST_FIRST).toList();
  }

  /** Returns what suffers from others alone, the worst first. */
  List<HealthStatus> victims() {
    return byName.values().stream()
        .filter(status -> !troubles(status).isEmpty() && !isRoot(status))
        .sorted(WORST_FIRST)
        .toList();
  }

  /** Returns the roots of a status first, then what lies between, the status itself last. */
  List<HealthStatus> chain(HealthStatus status) {
    Set<HealthStatus> found = new LinkedHashSet<>();
    collect(status, status, found);
    List<HealthStatus> chain = new ArrayList<>(found);
    chain.sort(
        Comparator.comparing((HealthStatus each) -> each == status)
            .thenComparing(each -> !isRoot(each)));
    return chain;
  }

  /** Collects what lies below; of one role another one is no cause. */
  private void collect(HealthStatus of, HealthStatus status, Set<HealthStatus> found) {
    boolean otherRole =
        of != status && of.kind() == HealthKind.ROLE && status.kind() == HealthKind.ROLE;
    if (!otherRole && found.add(status)) {
      for (HealthCondition trouble : troubles(status)) {
        blamed(status, trouble).forEach(below -> collect(of, below, found));
      }
    }
  }

  /** Returns what lies below a status and has a trouble that can be blamed on none. */
  private Set<HealthStatus> rootsBelow(HealthStatus status) {
    Set<HealthStatus> found = new LinkedHashSet<>();
    collect(status, status, found);
    found.remove(status);
    found.removeIf(
        below -> troubles(below).stream().noneMatch(trouble -> blamed(below, trouble).isEmpty()));
    return found;
  }

  /** Returns what a trouble is blamed on, one step below. */
  private Set<HealthStatus> blamed(HealthStatus status, HealthCondition trouble) {
    Set<HealthStatus> blamed = usedUp(status, trouble);
    if (!blamed.isEmpty()) {
      return blamed;
    }
    if (!trouble.dueTo().isEmpty()) {
      for (String name : trouble.dueTo()) {
        HealthStatus other = byName.get(name);
        if (other != null && other != status && other.level() != HealthLevel.UP) {
          blamed.add(other);
        }
      }
    } else if (!trouble.level().works()) {
      for (String name : needed(status)) {
        HealthStatus other = byName.get(name);
        if (other != null && other != status && failsOthers(other)) {
          blamed.add(other);
        }
      }
    }
    return blamed;
  }

  /** Returns what says that something is used up which a trouble names as its reason. */
  private Set<HealthStatus> usedUp(HealthStatus status, HealthCondition trouble) {
    Set<HealthStatus> found = new LinkedHashSet<>();
    for (HealthStatus other : byName.values()) {
      for (HealthCondition condition : troubles(other)) {
        Pattern words = USED_UP.get(condition.code());
        if (other != status && words != null && words.matcher(trouble.reason()).find()) {
          found.add(other);
        }
      }
    }
    return found;
  }

  private Set<String> needed(HealthStatus status) {
    Set<String> needed = new HashSet<>(needs.apply(status.name()));
    if (status.kind() == HealthKind.ROLE) {
      needed.add(OF_ROLES);
    }
    return needed;
  }

  /**
   * Returns whether an organ does not work for those that need it: what it suffers from a role
   * alone does no harm to another one.
   */
  private boolean failsOthers(HealthStatus organ) {
    return organ.kind() == HealthKind.ORGAN
        && troubles(organ).stream()
            .filter(trouble -> !trouble.level().works())
            .anyMatch(trouble -> trouble.dueTo().stream().noneMatch(this::isRole));
  }

  private boolean isRole(String name) {
    HealthStatus status = byName.get(name);
    return status != null && status.kind() == HealthKind.ROLE;
  }
}
