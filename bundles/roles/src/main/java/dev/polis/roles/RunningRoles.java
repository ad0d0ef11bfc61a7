package dev.polis.roles;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.roles.RoleName;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthStatus;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.supervision.RunState;
import dev.polis.supervision.RunnableStatus;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Publishes the running roles. A role runs while its plugin is healthy and its health is UP, and
 * further until its plugin has ended, so that an operator sees when a node has drained.
 * ConsensusMember runs while consensus does.
 */
final class RunningRoles {

  private static final Set<RunState> RUNNING = Set.of(RunState.HEALTHY, RunState.DONE);
  private static final Set<RunState> ENDING = Set.of(RunState.STOPPING);

  /**
   * The pause after each look. A start and a swap change the supervision tree some hundred times a
   * second, and each look compares all runnables with all organs; other nodes read the running
   * roles, so 50 ms more are nothing to them.
   */
  private static final Duration PAUSE = Duration.ofMillis(50);

  private final Value<SortedMap<RoleName, String>> started;
  private final Value<List<RunnableStatus>> runnables;
  private final Value<List<HealthStatus>> health;
  private final Value<ConsensusStatus> consensus;
  private final MutableValue<SortedSet<RoleName>> running;

  /**
   * Begins with the published roles of another instance.
   *
   * @param started the subtrees of the roles whose plugins were started
   * @param health the health of organs and roles, in which a plugin reports incomplete work
   */
  RunningRoles(
      Value<SortedMap<RoleName, String>> started,
      Value<List<RunnableStatus>> runnables,
      Value<List<HealthStatus>> health,
      Value<ConsensusStatus> consensus,
      SortedSet<RoleName> before) {
    this.running = new MutableValue<>(before);
    this.started = started;
    this.runnables = runnables;
    this.health = health;
    this.consensus = consensus;
  }

  Value<SortedSet<RoleName>> value() {
    return running;
  }

  void run(Context context) throws InterruptedException {
    AnyChange.follow(
        context,
        Map.of(
            "started", started, "runnables", runnables, "health", health, "consensus", consensus),
        PAUSE,
        this::update);
    context.healthy();
    context.awaitCancelled();
  }

  private void update() {
    SortedSet<RoleName> now = compute();
    if (!running.peek().orElseThrow().equals(now)) {
      running.set(Collections.unmodifiableSortedSet(now));
    }
  }

  private SortedSet<RoleName> compute() {
    SortedSet<RoleName> now = new TreeSet<>();
    SortedSet<RoleName> ending = new TreeSet<>();
    List<RunnableStatus> all = runnables.peek().orElse(List.of());
    started
        .peek()
        .orElse(Collections.emptySortedMap())
        .forEach(
            (role, dn) -> {
              String runnable = dn + "." + RolePlugins.RUNNABLE;
              if (isIn(RUNNING, all, runnable)) {
                now.add(role);
              }
              if (isIn(ENDING, all, runnable)) {
                ending.add(role);
              }
            });
    if (!now.isEmpty()) {
      Set<String> incomplete = incomplete();
      now.removeIf(role -> incomplete.contains(role.text()));
    }
    now.addAll(ending);
    if (consensus.peek().filter(ConsensusStatus.Running.class::isInstance).isPresent()) {
      now.add(RoleName.CONSENSUS_MEMBER);
    }
    return now;
  }

  /**
   * Returns the names of the roles whose health is not UP; each look at the health computes all of
   * it.
   */
  private Set<String> incomplete() {
    return health.peek().orElse(List.of()).stream()
        .filter(each -> each.kind() == HealthKind.ROLE && each.level() != HealthLevel.UP)
        .map(HealthStatus::name)
        .collect(Collectors.toSet());
  }

  private static boolean isIn(Set<RunState> states, List<RunnableStatus> all, String dn) {
    return all.stream().anyMatch(each -> each.dn().equals(dn) && states.contains(each.state()));
  }
}
