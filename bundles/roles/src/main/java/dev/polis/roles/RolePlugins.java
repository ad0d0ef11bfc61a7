package dev.polis.roles;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.Role;
import dev.polis.api.roles.RolePlugin;
import dev.polis.boot.StopReason;
import dev.polis.logtree.Log;
import dev.polis.supervision.Subtree;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Runs the plugins of the present roles, and no others. Thread-safe. */
final class RolePlugins {

  private final Subtree subtree;
  private final Log log;
  private final Map<RolePlugin, Role> known = new HashMap<>();
  private final Map<RolePlugin, Subtree> running = new HashMap<>();
  private Set<Role> wanted = Set.of();
  private int started;

  RolePlugins(Subtree subtree, Log log) {
    this.subtree = subtree;
    this.log = log;
  }

  synchronized void add(RolePlugin plugin, Role role) {
    known.put(plugin, role);
    converge();
  }

  synchronized void remove(RolePlugin plugin) {
    known.remove(plugin);
    converge();
  }

  synchronized void want(LocalRoles roles) {
    wanted = roles.roles();
    converge();
  }

  private void converge() {
    List<RolePlugin> ending =
        running.keySet().stream()
            .filter(plugin -> !known.containsKey(plugin) || !wanted.contains(known.get(plugin)))
            .toList();
    ending.forEach(
        plugin ->
            stop(
                plugin,
                known.containsKey(plugin) ? StopReason.ROLE_REMOVED : StopReason.CODE_REPLACED));
    known.entrySet().stream()
        .filter(each -> wanted.contains(each.getValue()) && !running.containsKey(each.getKey()))
        .sorted(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey)
        .toList()
        .forEach(this::start);
  }

  private void start(RolePlugin plugin) {
    Role role = known.get(plugin);
    log.info("starting role %s", role.roleName());
    // A number of its own, since a plugin of the same role may still be ending beside it.
    Subtree place = subtree.subtree(role.name().toLowerCase(Locale.ROOT) + "-" + ++started);
    running.put(plugin, place);
    place.run("plugin", plugin::run);
  }

  private void stop(RolePlugin plugin, StopReason reason) {
    Subtree place = running.remove(plugin);
    log.info("stopping %s (%s)", place.dn(), reason);
    place.close(reason);
  }
}
