package dev.polis.health;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Holds the status of one plugin of a node: a bundle that provides organs or roles.
 *
 * @param symbolicName the name of its bundle
 * @param bundle the number of its bundle in the framework; empty if it is not installed
 * @param provided the organs and roles that it provides, by its manifest
 * @param standing its running parts, in one sentence
 * @param conditions facts about it, the most important first
 * @param since the time since which it has this state
 */
public record PluginStatus(
    String symbolicName,
    OptionalLong bundle,
    Provided provided,
    String standing,
    List<HealthCondition> conditions,
    Instant since) {

  /**
   * Names the organs and roles of a plugin.
   *
   * @param organs names of organs
   * @param roles names of roles
   * @param platform true if it is no plugin, but a part of the platform
   */
  public record Provided(Set<String> organs, Set<String> roles, boolean platform) {
    /** The value for a bundle without organs and roles. */
    public static final Provided NOTHING = new Provided(Set.of(), Set.of());

    /** The value for a bundle of the platform. */
    public static final Provided PLATFORM = new Provided(Set.of(), Set.of(), true);

    /** Creates the value of a plugin. */
    public Provided(Set<String> organs, Set<String> roles) {
      this(organs, roles, false);
    }

    /** Copies the names. */
    public Provided {
      organs = Set.copyOf(organs);
      roles = Set.copyOf(roles);
    }

    /**
     * Returns whether the plugin provides an organ or a role of this name.
     *
     * @param kind organ or role
     * @param name its name
     */
    public boolean has(HealthKind kind, String name) {
      return (kind == HealthKind.ORGAN ? organs : roles).contains(name);
    }
  }

  /** Copies the conditions. */
  public PluginStatus {
    Objects.requireNonNull(symbolicName, "symbolicName");
    Objects.requireNonNull(bundle, "bundle");
    Objects.requireNonNull(provided, "provided");
    Objects.requireNonNull(standing, "standing");
    Objects.requireNonNull(since, "since");
    conditions = List.copyOf(conditions);
  }

  /**
   * Returns this status with a further fact, which comes first.
   *
   * @param condition the fact
   * @return another status
   */
  public PluginStatus with(HealthCondition condition) {
    List<HealthCondition> more = new ArrayList<>(List.of(condition));
    more.addAll(conditions);
    return new PluginStatus(symbolicName, bundle, provided, standing, more, since);
  }

  /** Returns the worst level of the facts; {@link HealthLevel#UP} if there are none. */
  public HealthLevel level() {
    return conditions.stream()
        .map(HealthCondition::level)
        .max(Comparator.naturalOrder())
        .orElse(HealthLevel.UP);
  }
}
