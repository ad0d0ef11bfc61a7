package dev.polis.roles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthStatus;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import dev.polis.supervision.Context;
import dev.polis.supervision.NextRestart;
import dev.polis.supervision.RunState;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RolePluginsTest {

  private static final Duration SOON = Duration.ofSeconds(10);
  private static final RoleName BACKUP = new RoleName("NightlyBackup");

  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final Subtree organ = tree.organ("roles");
  private final HealthTable health = HealthTable.open(tree);
  private final MutableValue<StopReason> codeGoes = new MutableValue<>(StopReason.CODE_REPLACED);
  private final MutableValue<LocalRoles> wanted = new MutableValue<>();
  private final MutableValue<ConsensusStatus> consensus =
      new MutableValue<>(new ConsensusStatus.Starting("its turn"));
  private final RolePlugins plugins =
      new RolePlugins(
          organ, logs.log("root.roles"), () -> codeGoes.peek().orElseThrow(), OrganState.NONE);
  private final RunningRoles running =
      new RunningRoles(
          plugins.subtrees(),
          tree.runnables(),
          health.all(),
          consensus,
          Collections.emptySortedSet());

  /** The actions of the test's plugins, oldest first. */
  private final List<String> events = new CopyOnWriteArrayList<>();

  RolePluginsTest() {
    organ.run("running", running::run);
    organ.run("health", new RoleHealth(health, wanted, plugins.subtrees(), consensus)::run);
  }

  @AfterEach
  void close() {
    health.close();
    tree.close();
  }

  /** A role with a mount, a program that needs it, and a helper of the program. */
  private final class Backup implements RolePlugin {
    private final String version;

    Backup(String version) {
      this.version = version;
    }

    @Override
    public void run(Context context) throws InterruptedException {
      events.add(version + " mount");
      context.run("program", this::program);
      context.healthy();
      stay(context, "mount");
    }

    private void program(Context context) throws InterruptedException {
      events.add(version + " program");
      context.run("helper", this::helper);
      context.healthy();
      stay(context, "program");
    }

    private void helper(Context context) throws InterruptedException {
      events.add(version + " helper");
      context.healthy();
      stay(context, "helper");
    }

    private void stay(Context context, String what) throws InterruptedException {
      try {
        context.awaitCancelled();
      } finally {
        String why = context.stopReason().map(StopReason::name).orElse("to run again");
        events.add("%s %s ends: %s".formatted(version, what, why));
      }
    }
  }

  private void want(RoleName... roles) {
    LocalRoles now = new LocalRoles(new TreeSet<>(List.of(roles)), true);
    wanted.set(now);
    plugins.want(now);
  }

  private void awaitRunning(RoleName... roles) throws Exception {
    Await.value(
        running.value(), now -> now.equals(Set.of(roles)), SOON, "running: " + List.of(roles));
  }

  private void awaitHelper(String version, int times) throws Exception {
    Await.until(
        SOON,
        "the helper to have started " + times + " times",
        () -> events.stream().filter((version + " helper")::equals).count() == times);
  }

  private Optional<HealthStatus> healthOf(RoleName role) {
    return health.all().peek().orElseThrow().stream()
        .filter(status -> status.name().equals(role.text()))
        .findFirst();
  }

  private List<RunnableStatus> below(String dn) {
    return tree.runnables().peek().orElseThrow().stream()
        .filter(status -> status.dn().startsWith(dn + "."))
        .toList();
  }

  private List<LogEntry> logged(Severity atLeast) {
    try (LogReader reader =
        logs.read(LogQuery.of("root").withChildren().backlogAll().minimumSeverity(atLeast))) {
      return reader.backlog();
    }
  }

  @Test
  @DisplayName(
      "ROL-03 a role that is added and removed twice ends in order, without FATAL or delay, and leaves no status")
  void rol03_rolesComeAndGo() throws Exception {
    plugins.add(new Backup("v1"), BACKUP, 0, 1);
    for (int round = 1; round <= 2; round++) {
      want(BACKUP);
      awaitRunning(BACKUP);
      awaitHelper("v1", 1);
      Await.until(
          SOON,
          "its health to be good",
          () -> healthOf(BACKUP).filter(now -> now.level() == HealthLevel.UP).isPresent());
      for (RunnableStatus each : below("root.roles.plugins")) {
        assertEquals("", each.lastError(), each::toString);
        assertEquals(0, each.restarts(), "it was delayed as if it had failed: " + each);
        assertEquals(new NextRestart.None(), each.restart(), each::toString);
      }
      events.clear();

      want();

      assertEquals(
          List.of(
              "v1 helper ends: ROLE_REMOVED",
              "v1 program ends: ROLE_REMOVED",
              "v1 mount ends: ROLE_REMOVED"),
          events,
          "want returns when the role has ended, in order");
      assertEquals(List.of(), below("root.roles.plugins"));
      awaitRunning();
      Await.until(SOON, "its health to be taken back", () -> healthOf(BACKUP).isEmpty());
      events.clear();
    }
    assertEquals(List.of(), logged(Severity.WARNING));
  }

  @Test
  @DisplayName("a role that is taken away counts as running until its plugin has ended")
  void endingRole() throws Exception {
    CompletableFuture<Void> drained = new CompletableFuture<>();
    plugins.add(
        context -> {
          context.healthy();
          try {
            context.awaitCancelled();
          } finally {
            drained.join();
          }
        },
        BACKUP,
        0,
        1);
    want(BACKUP);
    awaitRunning(BACKUP);
    Thread taking = Thread.ofVirtual().start(this::want);
    Await.until(
        SOON,
        "the role to be ending",
        () ->
            below("root.roles.plugins").stream()
                .anyMatch(each -> each.state() == RunState.STOPPING));

    // Another look at the roles, which sees the role as it is now.
    consensus.set(new ConsensusStatus.Running("me", "1", "2", List.of(), List.of()));
    awaitRunning(BACKUP, RoleName.CONSENSUS_MEMBER);
    drained.complete(null);

    awaitRunning(RoleName.CONSENSUS_MEMBER);
    assertTrue(taking.join(SOON), "the role did not end");
  }

  @Test
  @DisplayName(
      "a removed plugin's role stops with the reason of a replacement, and a stopping node's with the node's reason")
  void codeGoes() throws Exception {
    for (StopReason reason :
        List.of(StopReason.CODE_REPLACED, StopReason.PROCESS_RESTART, StopReason.POWER_OFF)) {
      codeGoes.set(reason);
      Backup plugin = new Backup(reason.name());
      plugins.add(plugin, BACKUP, 0, 1);
      want(BACKUP);
      awaitHelper(reason.name(), 1);

      plugins.remove(plugin);

      assertEquals("%s mount ends: %s".formatted(reason, reason), events.getLast());
    }
  }

  @Test
  @DisplayName(
      "the newest plugin of a role takes over, and the former one returns when that is removed")
  void newestTakesOver() throws Exception {
    want(BACKUP);
    Backup second = new Backup("v2");
    plugins.add(new Backup("v1"), BACKUP, 0, 1);
    awaitHelper("v1", 1);

    plugins.add(second, BACKUP, 0, 2);
    awaitHelper("v2", 1);
    assertTrue(
        events.indexOf("v1 mount ends: CODE_REPLACED") < events.indexOf("v2 mount"),
        () -> "two ran at once: " + events);

    plugins.add(new Backup("v0"), BACKUP, -1, 3);
    plugins.remove(second);
    awaitHelper("v1", 2);
    assertFalse(events.contains("v0 mount"), () -> "a lower ranking ran: " + events);
    awaitRunning(BACKUP);
  }

  @Test
  @DisplayName("a wanted role without a plugin does not run, and its health says why")
  void roleWithoutPlugin() throws Exception {
    want(BACKUP, RoleName.KUBERNETES_CONTROLLER);
    plugins.add(new Backup("v1"), BACKUP, 0, 1);
    awaitRunning(BACKUP);
    Await.until(SOON, "its health", () -> healthOf(RoleName.KUBERNETES_CONTROLLER).isPresent());

    HealthStatus status = healthOf(RoleName.KUBERNETES_CONTROLLER).orElseThrow();
    assertEquals(HealthLevel.WAITING, status.level());
    assertEquals(RoleHealth.WITHOUT_PLUGIN, status.code());
    assertTrue(status.reason().contains("KubernetesController"), status::toString);
    assertTrue(status.remedy().contains("polisctl node role remove"), status::toString);
  }

  @Test
  @DisplayName(
      "a role whose plugin reports a missing requirement is DEGRADED and does not count as running")
  void incompletePlugin() throws Exception {
    HealthCondition lacking = HealthCondition.degraded("no-tape", "there is no tape", "put one in");
    want(BACKUP);
    plugins.add(
        context -> {
          try (HealthScope scope = health.role(BACKUP.text(), "")) {
            scope.set(lacking);
            context.healthy();
            context.awaitCancelled();
          }
        },
        BACKUP,
        0,
        1);
    Await.until(
        SOON,
        "its health",
        () -> healthOf(BACKUP).filter(each -> each.code().equals("no-tape")).isPresent());

    assertEquals(HealthLevel.DEGRADED, healthOf(BACKUP).orElseThrow().level());
    assertFalse(running.value().peek().orElseThrow().contains(BACKUP));
    assertEquals(1, healthOf(BACKUP).orElseThrow().conditions().size());

    want();
    Await.until(SOON, "the end of the role", () -> healthOf(BACKUP).isEmpty());
  }

  @Test
  @DisplayName("a role whose plugin fails does not run, and its health quotes the failure")
  void failingPlugin() throws Exception {
    want(BACKUP);
    plugins.add(
        context -> {
          throw new IllegalStateException("no tape in the drive");
        },
        BACKUP,
        0,
        1);

    Await.until(
        SOON,
        "the reason in its health",
        () ->
            healthOf(BACKUP)
                .filter(now -> now.level() == HealthLevel.DOWN)
                .filter(now -> now.reason().contains("no tape in the drive"))
                .isPresent());
    assertEquals(Set.of(), running.value().peek().orElseThrow());
  }

  @Test
  @DisplayName("the member of consensus runs when consensus runs, although no plugin brings it")
  void consensusMember() throws Exception {
    want(RoleName.CONSENSUS_MEMBER);
    Await.until(
        SOON,
        "the awaited condition in its health",
        () ->
            healthOf(RoleName.CONSENSUS_MEMBER)
                .filter(now -> now.code().equals(RoleHealth.NO_CONSENSUS))
                .isPresent());
    awaitRunning();

    consensus.set(new ConsensusStatus.Running("me", "1", "2", List.of(), List.of()));

    awaitRunning(RoleName.CONSENSUS_MEMBER);
    Await.until(
        SOON,
        "its health to be good",
        () ->
            healthOf(RoleName.CONSENSUS_MEMBER)
                .filter(now -> now.level() == HealthLevel.UP)
                .isPresent());
  }

  @Test
  @DisplayName("names that differ only in capitals are different roles with folders of their own")
  void twins() throws Exception {
    RoleName other = new RoleName("NightlyBAckup");
    plugins.add(new Backup("v1"), BACKUP, 0, 1);
    plugins.add(new Backup("v2"), other, 0, 2);

    want(BACKUP, other);

    awaitRunning(BACKUP, other);
    assertEquals(
        2,
        tree.runnables().peek().orElseThrow().stream()
            .filter(each -> each.dn().endsWith("." + RolePlugins.RUNNABLE))
            .filter(each -> each.state() == RunState.HEALTHY)
            .count());
  }
}
