package dev.polis.health;

import dev.polis.base.values.Value;
import java.util.List;
import java.util.Set;
import org.osgi.annotation.versioning.ProviderType;

/** Keeps the health of all organs and roles of a node, as a service. Usable from any thread. */
@ProviderType
public interface HealthRegistry {

  /**
   * Opens a scope: from now on the organ or role is there. Its status is derived from the
   * conditions it publishes and from the runnables in its supervision subtree. Two instances of an
   * organ may be open for a moment, while one replaces the other; then the newest counts. Of a role
   * all scopes count together: the role server opens one for its run, and its plugin may open one
   * for what only the plugin knows.
   *
   * @param kind organ or role
   * @param name what people call it: {@code storage}, {@code ConsensusMember}
   * @param supervisionDn the distinguished name of its subtree; empty if it supervises nothing
   * @return the scope; its opener closes it
   */
  HealthScope open(HealthKind kind, String name, String supervisionDn);

  /**
   * Opens the scope of an organ.
   *
   * @param name its name, as the manifest of its plugin says it
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
   * @param supervisionDn the distinguished name of the subtree it runs in; empty if nothing runs
   *     it, and from its plugin, whose run the role server looks at
   * @return the scope; its opener closes it
   */
  default HealthScope role(String name, String supervisionDn) {
    return open(HealthKind.ROLE, name, supervisionDn);
  }

  /**
   * Returns the status of all organs and roles, organs first, by name. Organs that are installed
   * but not there are among them, with the reason. The list is computed for each get and peek.
   *
   * @return follows all changes; never empty
   */
  Value<List<HealthStatus>> all();

  /**
   * Finds the organs that an organ or a role cannot do without: those whose services its plugin
   * needs, and of a role those of its plugin.
   *
   * @param name an organ, a role, or any other name
   * @return their names; empty if it needs none, or nothing has this name
   */
  Set<String> needs(String name);

  /**
   * Finds the plugins of the node. The list is computed for each call.
   *
   * @return how each stands; empty where no plugin is known
   */
  List<PluginStatus> plugins();
}
