package dev.polis.health;

import java.util.List;
import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/** Finds the organs that should be there and are not, and why. */
@ConsumerType
@FunctionalInterface
public interface AbsentOrgans {

  /** Finds nothing: for programs without a framework, where nothing is expected. */
  AbsentOrgans NONE = present -> List.of();

  /**
   * An organ that is not there.
   *
   * @param name what it is called
   * @param condition why it is not there
   */
  record Absent(String name, HealthCondition condition) {}

  /**
   * Finds the organs that are expected but absent.
   *
   * @param present the names of the organs that are there
   * @return the others
   */
  List<Absent> find(Set<String> present);
}
