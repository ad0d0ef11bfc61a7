package dev.polis.health;

import dev.polis.base.values.Value;
import java.util.List;
import java.util.Set;
import org.osgi.annotation.versioning.ProviderType;

/** Keeps the health of all organs and roles of a node. Usable from any thread. */
@ProviderType
public interface HealthRegistry {

  /**
   * Opens a scope: from now on the organ or role is present. Its status is derived from the
   * conditions it publishes and from the runnables in its supervision subtree. Two instances of an
   * organ may be open for a moment, while one replaces the other; then the newest counts. All
   * scopes of a role count together: the role server opens one for its run, and its plugin may open
   * one for its own facts.
   *
   * @param kind organ or role
   * @param name its name for people: {@code storage}, {@code ConsensusMember}
   * @param supervisionDn the distinguished name of its subtree; empty if it supervises nothing
   * @return the scope; its opener closes it
   */
  HealthScope open(HealthKind kind, String name, String supervisionDn);

  /**
   * Opens the scope of an organ.
   *
   * @param name its name in the manifest of its plugin
   * @param supervisionDn the distinguished name of its subtree
   * @return the scope; its opener closes it
   */
  default HealthScope organ(String name, String supervisionDn) {
    return open(HealthKind.ORGAN, name, supervisionDn);
  }

  /**
   * Opens a scope of a role.
   *
   * @param name the role
   * @param supervisionDn the distinguished name of its subtree; empty if it does not run, and for
   *     its plugin's scope, since the role server watches the run
   * @return the scope; its opener closes it
   */
  default HealthScope role(String name, String supervisionDn) {
    return open(HealthKind.ROLE, name, supervisionDn);
  }

  /**
   * Returns the status of all organs and roles, organs first, by name. It includes installed organs
   * that are absent, with the reason. Each get and peek computes the list.
   *
   * @return a value that follows all changes; never empty
   */
  Value<List<HealthStatus>> all();

  /**
   * Finds the organs that an organ or a role needs: the providers of its plugin's services.
   *
   * @param name an organ, a role, or any other name
   * @return their names; empty if it needs none, or the name is unknown
   */
  Set<String> needs(String name);

  /**
   * Finds the plugins of the node. Each call computes the list.
   *
   * @return the status of each; empty if no plugin is known
   */
  List<PluginStatus> plugins();
}
