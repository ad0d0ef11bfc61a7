package dev.polis.health;

import java.util.List;
import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/** Knows which organs a node should have, and which of them need each other. */
@ConsumerType
public interface OrganDirectory {

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
  List<Absent> absent(Set<String> present);

  /**
   * Finds the organs that an organ or a role cannot do without: those whose services its plugin
   * needs, and of a role those of its plugin.
   *
   * @param name an organ, a role, or any other name
   * @return their names; empty if it needs none, or nothing has this name
   */
  Set<String> needs(String name);

  /**
   * Finds the plugins of the node.
   *
   * @return how each stands; empty where no plugin is known
   */
  default List<PluginStatus> plugins() {
    return List.of();
  }

  /**
   * Returns a directory for programs without a framework, where no organ is expected.
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
