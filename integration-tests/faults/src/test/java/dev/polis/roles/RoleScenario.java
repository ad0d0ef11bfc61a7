package dev.polis.roles;

import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthTable;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.SupervisionTree;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;

/** Writes the roles of a node, then other roles, then none. */
final class RoleScenario implements PowerScenario {

  private static final LogTree LOGS = LogTree.create();
  private static final HealthScope HEALTH =
      HealthTable.open(SupervisionTree.open(LOGS)).organ("roles", "");

  private final Log log = LOGS.log("test");

  @Override
  public List<Step> steps() {
    return List.of(
        root -> write(root, RoleName.CONSENSUS_MEMBER, RoleName.KUBERNETES_CONTROLLER),
        root -> write(root, RoleName.KUBERNETES_WORKER),
        root -> write(root),
        root -> write(root, RoleName.CONSENSUS_MEMBER));
  }

  private static RememberedRoles remembered(Path root) {
    return new RememberedRoles(Root.at(root).data().node().roles(), HEALTH);
  }

  private void write(Path root, RoleName... roles) {
    remembered(root).write(new LocalRoles(new TreeSet<>(List.of(roles)), true), log);
  }

  @Override
  public String observe(Path root) {
    return remembered(root).read(log).map(LocalRoles::describe).orElse("nothing is remembered");
  }
}
