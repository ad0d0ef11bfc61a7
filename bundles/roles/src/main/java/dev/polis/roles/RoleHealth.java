package dev.polis.roles;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.base.values.Value;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/**
 * Publishes the health of each wanted role: that of its runnables, or the reason why there are
 * none.
 */
final class RoleHealth {

  static final String WITHOUT_PLUGIN = "role-without-plugin";
  static final String NO_CONSENSUS = "consensus-not-running";

  /** Holds the scope of a role and the name of its subtree; the name may be empty. */
  private record Published(String dn, HealthScope scope) {}

  private final HealthRegistry registry;
  private final Value<LocalRoles> wanted;
  private final Value<SortedMap<RoleName, String>> started;
  private final Value<ConsensusStatus> consensus;

  RoleHealth(
      HealthRegistry registry,
      Value<LocalRoles> wanted,
      Value<SortedMap<RoleName, String>> started,
      Value<ConsensusStatus> consensus) {
    this.registry = registry;
    this.wanted = wanted;
    this.started = started;
    this.consensus = consensus;
  }

  void run(Context context) throws InterruptedException {
    Map<RoleName, Published> published = new HashMap<>();
    try {
      AnyChange.follow(
          context,
          Map.of("wanted", wanted, "started", started, "consensus", consensus),
          () -> update(published));
      context.healthy();
      context.awaitCancelled();
    } finally {
      // The children have ended before, since they are cancelled first.
      published.values().forEach(each -> each.scope().close());
    }
  }

  private void update(Map<RoleName, Published> published) {
    Set<RoleName> roles = wanted.peek().<Set<RoleName>>map(LocalRoles::roles).orElse(Set.of());
    SortedMap<RoleName, String> places = started.peek().orElse(Collections.emptySortedMap());
    published
        .entrySet()
        .removeIf(
            each -> {
              RoleName role = each.getKey();
              String place = places.getOrDefault(role, "");
              boolean ends = !roles.contains(role) || !each.getValue().dn().equals(place);
              if (ends) {
                each.getValue().scope().close();
              }
              return ends;
            });
    roles.forEach(
        role -> {
          String place = places.getOrDefault(role, "");
          Published scope =
              published.computeIfAbsent(
                  role, _ -> new Published(place, registry.role(role.text(), place)));
          setConditions(role, scope);
        });
  }

  private void setConditions(RoleName role, Published published) {
    if (role.equals(RoleName.CONSENSUS_MEMBER)) {
      setConsensus(published.scope());
    } else if (published.dn().isEmpty()) {
      published
          .scope()
          .set(
              new HealthCondition(
                  HealthLevel.WAITING,
                  WITHOUT_PLUGIN,
                  "no bundle of this node provides the role %s".formatted(role),
                  "install a bundle that provides it, or remove the role: polisctl node role remove NODE %s"
                      .formatted(role)));
    }
  }

  private void setConsensus(HealthScope scope) {
    switch (consensus.peek().orElseThrow()) {
      case ConsensusStatus.Running running -> scope.clear(NO_CONSENSUS);
      case ConsensusStatus.Failed failed ->
          scope.set(HealthCondition.down(NO_CONSENSUS, failed.text(), "").dueTo("consensus"));
      case ConsensusStatus other ->
          scope.set(HealthCondition.waiting(NO_CONSENSUS, other.text()).dueTo("consensus"));
    }
  }
}
