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
 * Separates roots from victims at one moment. A trouble is a condition worse than UP. Its cause is
 * the organ or role that it names; if it names none and the work is not done, the causes are the
 * needed organs that do not work either. A trouble without a cause makes its organ or role a root.
 */
public final class HealthCauses {
  /** The organ that runs the roles, which each role needs. */
  private static final String OF_ROLES = "roles";

  private static final Comparator<HealthStatus> WORST_FIRST =
      Comparator.comparing(HealthStatus::level)
          .reversed()
          .thenComparing(HealthStatus::since)
          .thenComparing(HealthStatus::name);

  /** The resources that may run out, by the code of the condition that reports it. */
  private static final Map<String, Pattern> USED_UP =
      Map.of(
          "descriptors-short", Pattern.compile("too many open files", Pattern.CASE_INSENSITIVE),
          "threads-short",
              Pattern.compile(
                  "unable to create native thread|resource temporarily unavailable",
                  Pattern.CASE_INSENSITIVE),
          "memory-short",
              Pattern.compile("is out of memory|cannot allocate memory", Pattern.CASE_INSENSITIVE),
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
   * @param needs returns the organs that an organ or a role needs
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

  /** Returns the troubles for which a status is itself the root, the worst first. */
  List<HealthCondition> own(HealthStatus status) {
    List<HealthCondition> troubles = troubles(status);
    List<HealthCondition> own =
        troubles.stream().filter(trouble -> blamed(status, trouble).isEmpty()).toList();
    // Organs that only blame each other have no root but themselves.
    return own.isEmpty() && rootsBelow(status).isEmpty() ? troubles : own;
  }

  /**
   * Returns the roots of a trouble.
   *
   * @param status one of the statuses
   * @param trouble one of its conditions
   * @return their names; empty if the status itself is the root
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

  /** Returns whether a status is itself the root of a trouble. */
  boolean isRoot(HealthStatus status) {
    return !own(status).isEmpty();
  }

  /** Returns the roots of the whole node: those that do not work first, then by age. */
  List<HealthStatus> roots() {
    return byName.values().stream().filter(this::isRoot).sorted(WORST_FIRST).toList();
  }

  /** Returns the victims, which only suffer from others, the worst first. */
  List<HealthStatus> victims() {
    return byName.values().stream()
        .filter(status -> !troubles(status).isEmpty() && !isRoot(status))
        .sorted(WORST_FIRST)
        .toList();
  }

  /** Returns the roots of a status first, then the statuses between, the status itself last. */
  List<HealthStatus> chain(HealthStatus status) {
    Set<HealthStatus> found = new LinkedHashSet<>();
    collect(status, status, found);
    List<HealthStatus> chain = new ArrayList<>(found);
    chain.sort(
        Comparator.comparing((HealthStatus each) -> each == status)
            .thenComparing(each -> !isRoot(each)));
    return chain;
  }

  /** Collects the causes; a role is never the cause of another one. */
  private void collect(HealthStatus of, HealthStatus status, Set<HealthStatus> found) {
    boolean otherRole =
        of != status && of.kind() == HealthKind.ROLE && status.kind() == HealthKind.ROLE;
    if (!otherRole && found.add(status)) {
      for (HealthCondition trouble : troubles(status)) {
        blamed(status, trouble).forEach(below -> collect(of, below, found));
      }
    }
  }

  /** Returns the roots among the causes of a status. */
  private Set<HealthStatus> rootsBelow(HealthStatus status) {
    Set<HealthStatus> found = new LinkedHashSet<>();
    collect(status, status, found);
    found.remove(status);
    found.removeIf(
        below -> troubles(below).stream().noneMatch(trouble -> blamed(below, trouble).isEmpty()));
    return found;
  }

  /** Returns the direct causes of a trouble. */
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

  /** Returns the statuses that report the used-up resource which a trouble names as its reason. */
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
   * Returns whether an organ fails those that need it; a trouble that a role causes does not count.
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
