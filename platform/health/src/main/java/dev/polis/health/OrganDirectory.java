package dev.polis.health;

import java.util.List;
import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/** Knows the organs that a node should have, and their needs. */
@ConsumerType
public interface OrganDirectory {

  /**
   * Describes an absent organ.
   *
   * @param name its name
   * @param condition the reason of its absence
   */
  record Absent(String name, HealthCondition condition) {}

  /**
   * Finds the organs that are expected but absent.
   *
   * @param present the names of the present organs
   * @return the absent ones
   */
  List<Absent> absent(Set<String> present);

  /**
   * Finds the organs that an organ or a role needs: the providers of its plugin's services.
   *
   * @param name an organ, a role, or any other name
   * @return their names; empty if it needs none, or the name is unknown
   */
  Set<String> needs(String name);

  /**
   * Finds the plugins of the node.
   *
   * @return the status of each; empty if no plugin is known
   */
  default List<PluginStatus> plugins() {
    return List.of();
  }

  /**
   * Returns a directory that expects no organ, for programs without a framework.
   *
   * @return an empty directory
   */
  static OrganDirectory empty() {
    return new OrganDirectory() {
      @Override
      public List<Absent> absent(Set<String> present) {
        return List.of();
      }

      @Override
      public Set<String> needs(String organ) {
        return Set.of();
      }
    };
  }
}
