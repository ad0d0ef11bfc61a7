package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.OpenWait;
import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import dev.polis.fixtures.Await;
import dev.polis.health.Explanation.Kind;
import dev.polis.health.PluginStatus.Provided;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class ExplainerTest {
  private static final Map<String, Set<String>> NEEDS =
      Map.of(
          "consensus", Set.of("storage", "network"),
          "curator", Set.of("consensus", "network"),
          "cluster", Set.of("curator", "consensus"));

  private final SupervisionTree tree = SupervisionTree.open(LogTree.create());
  private final Waits boot = new Waits();
  private HealthTable health = open();
  private Explainer explainer = new Explainer(health, tree, boot);

  private HealthTable open(OrganDirectory.Absent... absent) {
    return HealthTable.open(tree, new StubOrgans(NEEDS, absent), InstantSource.system());
  }

  private void expect(OrganDirectory.Absent... absent) {
    health.close();
    health = open(absent);
    explainer = new Explainer(health, tree, boot);
  }

  @AfterEach
  void close() {
    health.close();
    tree.close();
  }

  @Test
  @DisplayName("a healthy organ is explained with its facts and without a cause")
  void wellOrgan() {
    health.organ("storage", "").set(HealthCondition.up("mode", "the volume is ENCRYPTED"));

    Explanation explained = explain("STORAGE");

    assertEquals(Kind.ORGAN, explained.kind());
    assertEquals(HealthLevel.UP, explained.level());
    assertEquals("it does its work", explained.standing());
    assertEquals(List.of("the volume is ENCRYPTED"), explained.facts());
    assertEquals(List.of(), explained.causes());
  }

  @Test
  @DisplayName("the causes of an organ lead through the organs that it needs to the root cause")
  void chainOfOrgans() {
    health
        .organ("storage", "")
        .set(HealthCondition.down("disk-full", "the disk is full", "free some space"));
    health.organ("network", "");
    health.organ("consensus", "").set(HealthCondition.waiting("etcd", "etcd waits for its files"));
    health.organ("curator", "").set(HealthCondition.waiting("no-leader", "no leader is known"));

    Explanation explained = explain("curator");

    assertEquals(HealthLevel.WAITING, explained.level());
    assertEquals(
        List.of(
            "storage: the disk is full",
            "consensus is WAITING because of storage",
            "curator: no leader is known"),
        explained.causes());
    assertEquals(List.of("free some space"), explained.remedies());
    assertEquals(
        List.of("consensus is WAITING because of storage", "curator is WAITING because of storage"),
        explain("storage").consequences());
  }

  @Test
  @DisplayName("a cycle of organs that need each other ends the chain of causes")
  void circleOfOrgans() {
    health.close();
    health =
        HealthTable.open(
            tree,
            new StubOrgans(Map.of("a", Set.of("b"), "b", Set.of("a"))),
            InstantSource.system());
    explainer = new Explainer(health, tree, boot);
    health.organ("a", "").set(HealthCondition.down("broken", "a is broken", ""));
    health.organ("b", "").set(HealthCondition.down("broken", "b is broken", ""));

    assertEquals(List.of("b: b is broken", "a: a is broken"), explain("a").causes());
    assertEquals(2, explain("node").causes().size(), "a circle has no root but itself");
  }

  @Test
  @DisplayName("an absent organ is explained with the reason of its absence")
  void absentOrgan() {
    expect(
        new OrganDirectory.Absent(
            "consensus",
            HealthCondition.down("stopped", "bundle dev.polis.consensus was stopped", "start it")));

    Explanation explained = explain("Consensus");

    assertEquals("consensus", explained.name());
    assertEquals(HealthLevel.DOWN, explained.level());
    assertEquals(List.of("consensus: bundle dev.polis.consensus was stopped"), explained.causes());
    assertEquals(List.of("start it"), explained.remedies());
  }

  private static PluginStatus plugin(String name, Provided provided, HealthCondition... facts) {
    return new PluginStatus(
        name,
        OptionalLong.of(7),
        provided,
        "version 1.2.0 runs, signed by key ann",
        List.of(facts),
        Instant.EPOCH);
  }

  private void have(PluginStatus... plugins) {
    health.close();
    health =
        HealthTable.open(tree, new StubOrgans(NEEDS, List.of(plugins)), InstantSource.system());
    explainer = new Explainer(health, tree, boot);
  }

  private static final HealthCondition REFUSED =
      HealthCondition.degraded(
          "swap-failed", "the swap was refused: bad signature", "sign it with a trusted key");

  @Test
  @DisplayName("a plugin is explained with its services and roles, and why no other version runs")
  void pluginWithAFailedSwap() {
    have(plugin("org.example.backup", new Provided(Set.of("backup"), Set.of()), REFUSED));
    health.organ("backup", "");

    Explanation explained = explain("org.example.backup");

    assertEquals(Kind.PLUGIN, explained.kind());
    assertEquals(HealthLevel.DEGRADED, explained.level());
    assertEquals("version 1.2.0 runs, signed by key ann", explained.standing());
    assertEquals(List.of("it provides the organ backup, which is UP"), explained.facts());
    assertEquals(List.of("the swap was refused: bad signature"), explained.causes());
    assertEquals(List.of("sign it with a trusted key"), explained.remedies());
  }

  @Test
  @DisplayName(
      "an organ has the level of its health, and the refused version of its plugin is named")
  void organOfAPluginWithAFailedSwap() {
    have(plugin("org.example.backup", new Provided(Set.of("backup"), Set.of()), REFUSED));
    health.organ("backup", "");

    Explanation explained = explain("backup");

    assertEquals(Kind.ORGAN, explained.kind());
    assertEquals(HealthLevel.UP, explained.level());
    assertEquals(
        List.of("plugin org.example.backup: version 1.2.0 runs, signed by key ann"),
        explained.facts());
    assertEquals(
        List.of("org.example.backup: the swap was refused: bad signature"), explained.causes());
  }

  @Test
  @DisplayName(
      "a plugin whose organ does not work is explained down to the organ with the root cause")
  void pluginOfAnOrganThatWaits() {
    have(plugin("dev.polis.curator", new Provided(Set.of("curator"), Set.of())));
    health.organ("storage", "").set(HealthCondition.down("disk-full", "the disk is full", "free"));
    health.organ("consensus", "").set(HealthCondition.waiting("etcd", "etcd waits for its files"));
    health.organ("curator", "").set(HealthCondition.waiting("no-leader", "no leader is known"));

    Explanation explained = explain("dev.polis.curator");

    assertEquals(HealthLevel.WAITING, explained.level());
    assertEquals(
        List.of(
            "storage: the disk is full",
            "consensus is WAITING because of storage",
            "curator: no leader is known"),
        explained.causes());
    assertEquals("free", explained.remedies().getFirst());
  }

  @Test
  @DisplayName("another role's fault is no cause of a role, and no fault is named twice")
  void rolesSideBySide() {
    HealthScope organ = health.organ("roles", "");
    for (String role : List.of("Controller", "Worker")) {
      HealthCondition failed =
          HealthCondition.down(
              "of-" + role.toLowerCase(Locale.ROOT), role + "'s program failed", "");
      health.role(role, "").set(failed);
      organ.set(failed.dueTo(role));
    }
    assertEquals(List.of("Worker: Worker's program failed"), explain("Worker").causes());

    organ.set(HealthCondition.down("own", "no role record arrives", ""));
    assertEquals(
        List.of("roles: no role record arrives", "Worker: Worker's program failed"),
        explain("Worker").causes());
  }

  @Test
  @DisplayName("the plugins of failing roles are read again after five seconds, not at each look")
  void pluginsOfFailingRoles() {
    AtomicInteger looks = new AtomicInteger();
    AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    health.close();
    health =
        HealthTable.open(
            tree,
            new OrganDirectory() {
              @Override
              public List<Absent> absent(Set<String> present) {
                return List.of();
              }

              @Override
              public Set<String> needs(String organ) {
                return Set.of();
              }

              @Override
              public List<PluginStatus> plugins() {
                looks.incrementAndGet();
                return List.of();
              }
            },
            InstantSource.system());
    explainer = new Explainer(health, tree, boot, now::get);
    health
        .role("PostgreSQL", "")
        .set(HealthCondition.down("failed", "it failed", SupervisedHealth.readTheLog("sql")));

    explainer.statuses();
    now.set(Instant.EPOCH.plusMillis(4999));
    explainer.statuses();
    assertEquals(1, looks.get());
    now.set(Instant.EPOCH.plusSeconds(5));
    explainer.statuses();
    assertEquals(2, looks.get());
  }

  @Test
  @DisplayName("a role that fails for an unknown reason names its plugin and the ways back")
  void roleOfAFailingPlugin() throws Exception {
    have(plugin("org.example.sql", new Provided(Set.of(), Set.of("PostgreSQL"))));
    Subtree place = tree.organ("sql");
    health.role("PostgreSQL", place.dn());
    place.run(
        "plugin",
        _ -> {
          throw new IllegalStateException("table orders has no column total");
        });
    Await.until(
        Duration.ofSeconds(20),
        "the role to fail",
        () -> explainer.statuses().stream().anyMatch(each -> each.level() == HealthLevel.DOWN));

    HealthStatus role = explainer.statuses().getFirst();
    HealthCondition condition = role.conditions().getFirst();
    assertTrue(condition.reason().contains("table orders has no column total"), condition::reason);
    assertTrue(
        condition
            .remedy()
            .startsWith(
                "this is a failure of the plugin org.example.sql (version 1.2.0 runs, signed by key ann): repair what it names"),
        condition::remedy);
    assertTrue(
        condition.remedy().contains("polisctl node role remove NODE PostgreSQL); see its log: "),
        condition::remedy);
    assertEquals(
        List.of(condition.remedy()), explainer.explain("PostgreSQL").orElseThrow().remedies());
  }

  @Test
  @DisplayName(
      "a role that a plugin provides and the cluster has not assigned is explained as such")
  void roleThatWasNotGiven() {
    have(plugin("org.example.sql", new Provided(Set.of(), Set.of("PostgreSQL"))));

    Explanation explained = explain("postgresql");

    assertEquals(Kind.ROLE, explained.kind());
    assertEquals("PostgreSQL", explained.name());
    assertEquals(
        "it does not run: the cluster has not given it to this node", explained.standing());
    assertTrue(explained.remedies().getFirst().contains("node role add"), explained::toString);
    assertTrue(explainer.names().contains("org.example.sql"), explainer.names()::toString);
  }

  @Test
  @DisplayName("a waiting organ is explained with the node's wait")
  void openWaitsAreCauses() {
    boot.open =
        List.of(new OpenWait("etcd to become ready", "no answer yet", Duration.ofSeconds(7)));
    health.organ("consensus", "").set(HealthCondition.waiting("etcd", "etcd starts"));

    assertEquals(
        List.of(
            "consensus: etcd starts",
            "the node has waited 7 s for etcd to become ready: no answer yet"),
        explain("consensus").causes());
  }

  @Test
  @DisplayName(
      "the node has the level of its worst part, and names the root causes, not their consequences")
  void node() {
    health
        .organ("storage", "")
        .set(HealthCondition.degraded("key-beside-volume", "the key lies there", "move it"));
    health.organ("consensus", "").set(HealthCondition.down("etcd", "etcd failed", "look"));
    health.organ("curator", "").set(HealthCondition.waiting("no-leader", "no leader is known"));
    health.role("ConsensusMember", "");

    Explanation explained = explain("node");

    assertEquals(Kind.NODE, explained.kind());
    assertEquals(HealthLevel.DOWN, explained.level());
    assertEquals(
        "of 4 organs and roles: 1 UP, 1 DEGRADED (storage), 1 WAITING (curator), 1 DOWN (consensus)",
        explained.standing());
    assertEquals(
        List.of("consensus: etcd failed", "storage: the key lies there"), explained.causes());
    assertEquals(List.of("look", "move it"), explained.remedies());
    assertEquals(List.of("curator is WAITING because of consensus"), explained.consequences());
  }

  @Test
  @DisplayName(
      "an organ that was stopped by hand is a root cause, even if an organ that it needs is absent, too")
  void severalRoots() {
    expect(
        new OrganDirectory.Absent(
            "consensus", HealthCondition.down("stopped", "consensus was stopped", "start it")));
    health.organ("storage", "").set(HealthCondition.down("disk-full", "the disk is full", "free"));
    health.organ("curator", "").set(HealthCondition.waiting("no-leader", "no leader is known"));

    Explanation explained = explain("node");

    assertEquals(
        Set.of("consensus: consensus was stopped", "storage: the disk is full"),
        Set.copyOf(explained.causes()));
    assertEquals(List.of("curator is WAITING because of consensus"), explained.consequences());
  }

  @Test
  @DisplayName("a fault that follows from another organ is no root cause, although its organ works")
  void degradedVictim() {
    HealthScope cluster = health.organ("cluster", "");
    cluster.set(
        HealthCondition.degraded("no-contact", "no contact to consensus", "wait")
            .dueTo("consensus"));
    HealthScope consensus = health.organ("consensus", "");
    assertEquals(List.of("wait"), explain("node").remedies(), "while consensus is well");

    consensus.set(HealthCondition.down("etcd-failed", "no space left on device", ""));

    Explanation explained = explain("node");
    assertEquals(List.of("consensus: no space left on device"), explained.causes());
    assertEquals(List.of("cluster is DEGRADED because of consensus"), explained.consequences());
    assertEquals(1, explained.remedies().size(), explained::toString);
    assertTrue(explained.remedies().getFirst().startsWith("free some space"));
  }

  @Test
  @DisplayName(
      "a role's fault lowers the level of the organ that runs it, and is a root cause of its own")
  void failingRole() throws Exception {
    Subtree roles = tree.organ("roles");
    health.organ("roles", roles.dn());
    health.role("Worker", roles.dn() + ".worker");
    roles.run(
        "worker",
        context -> {
          throw new IOException("the kubelet has ended");
        });
    awaitFailure("the kubelet has ended");

    Explanation explained = explain("node");

    assertEquals(HealthLevel.DOWN, explain("roles").level());
    assertEquals(1, explained.causes().size(), explained::toString);
    assertTrue(explained.causes().getFirst().startsWith("Worker: "), explained::toString);
    assertEquals(List.of("roles is DOWN because of Worker"), explained.consequences());
    assertEquals(
        List.of(
            "see its log: polisctl node logs --dn root.roles.worker (before the node is HOME: polisctl debug logs)"),
        explained.remedies());
  }

  @Test
  @DisplayName("a failure that the organ reports itself is shown once, with the organ's message")
  void failureToldOnce() throws Exception {
    Subtree consensus = tree.organ("consensus");
    HealthScope scope = health.organ("consensus", consensus.dn());
    consensus.run(
        "member",
        context -> {
          throw new IOException("etcd ended: too many open files");
        });
    awaitFailure("too many open files");
    assertTrue(
        explain("consensus").causes().getFirst().startsWith("consensus: root.consensus.member has"),
        () -> explain("consensus").toString());

    scope.set(
        HealthCondition.waiting(
            "etcd-starting", "etcd waits for etcd to come back: etcd ended: too many open files"));

    Explanation explained = explain("consensus");
    assertEquals(
        List.of("consensus: etcd waits for etcd to come back: etcd ended: too many open files"),
        explained.causes());
    assertEquals(HealthLevel.DOWN, explained.level());
    assertTrue(
        explained.remedies().getFirst().startsWith("raise the limit of descriptors"),
        explained::toString);
  }

  private void awaitFailure(String words) throws Exception {
    Await.value(
        tree.runnables(),
        all -> all.stream().anyMatch(each -> each.lastError().contains(words)),
        Duration.ofSeconds(10),
        "the runnable to fail");
  }

  @Test
  @DisplayName(
      "a wait is found by a part of its name and explained with the organs that do not work")
  void waits() {
    boot.open = List.of(new OpenWait("etcd to become ready", "", Duration.ofSeconds(7)));
    health.organ("storage", "").set(HealthCondition.down("disk-full", "the disk is full", "free"));

    Explanation explained = explain("ETCD to become");

    assertEquals(Kind.WAIT, explained.kind());
    assertEquals("etcd to become ready", explained.name());
    assertEquals("the node has waited 7 s for it", explained.standing());
    assertEquals(List.of("storage: the disk is full"), explained.causes());
  }

  @Test
  @DisplayName("a runnable is explained with its state and its latest failure")
  void runnable() throws Exception {
    Subtree organ = tree.organ("network");
    organ.run(
        "watch",
        context -> {
          throw new IOException("the cable is out");
        });
    Await.value(
        tree.runnables(),
        all -> all.stream().anyMatch(each -> each.lastError().contains("the cable")),
        Duration.ofSeconds(10),
        "the runnable to fail");

    Explanation explained = explain("root.network.watch");

    assertEquals(Kind.RUNNABLE, explained.kind());
    assertTrue(explained.causes().getFirst().contains("the cable is out"), explained::toString);
  }

  @Test
  @DisplayName("a runnable that does not become healthy is explained with its stack")
  void lateRunnable() throws Exception {
    tree.organ("network").run("watch", context -> new CountDownLatch(1).await());
    Await.until(
        "the stack to show the waiting method",
        () ->
            explain("root.network.watch").facts().stream()
                .anyMatch(
                    fact -> fact.startsWith("at java.util.concurrent.CountDownLatch.await:")));

    List<String> facts = explain("root.network.watch").facts();

    assertTrue(facts.getLast().startsWith("at " + ExplainerTest.class.getName()), facts::toString);
  }

  @Test
  @DisplayName("a condition is explained with its publisher")
  void condition() {
    health
        .organ("storage", "")
        .set(HealthCondition.degraded("no-recovery-share", "nothing opens the volume", "enroll"));

    Explanation explained = explain("no-recovery-share");

    assertEquals(Kind.CONDITION, explained.kind());
    assertEquals("nothing opens the volume", explained.standing());
    assertEquals(List.of("published by the organ storage"), explained.causes());
    assertEquals(List.of("enroll"), explained.remedies());
  }

  @Test
  @DisplayName("a condition of several publishers is explained with all of them, the worst first")
  void conditionOfSeveral() {
    health
        .organ("storage", "")
        .set(HealthCondition.degraded("disk-full", "/a has 3% left", "free some space in /a"));
    health
        .organ("consensus", "")
        .set(HealthCondition.down("disk-full", "/b has 0% left", "free some space in /b"));

    Explanation explained = explain("disk-full");

    assertEquals(HealthLevel.DOWN, explained.level());
    assertEquals("/b has 0% left; /a has 3% left", explained.standing());
    assertEquals(
        List.of(
            "published by the organ consensus: /b has 0% left",
            "published by the organ storage: /a has 3% left"),
        explained.causes());
    assertEquals(List.of("free some space in /b", "free some space in /a"), explained.remedies());
  }

  @Test
  @DisplayName("an unknown name is not explained, and the known names are returned")
  void unknownName() {
    health.organ("storage", "");
    health.role("ConsensusMember", "");
    boot.open = List.of(new OpenWait("a leader", "", Duration.ZERO));

    assertEquals(Optional.empty(), explainer.explain("nonsense"));
    assertEquals(List.of("node", "storage", "ConsensusMember", "a leader"), explainer.names());
  }

  private Explanation explain(String name) {
    return explainer.explain(name).orElseThrow(() -> new AssertionError(name + " is unknown"));
  }

  /** Stands for a launcher that only has open waits. */
  private static final class Waits implements BootReport {
    volatile List<OpenWait> open = List.of();

    @Override
    public List<OpenWait> openWaits() {
      return open;
    }

    @Override
    public Wait waiting(String name) {
      throw new AssertionError("an explanation opens no wait");
    }

    @Override
    public void home(String summary) {
      throw new AssertionError("an explanation changes nothing");
    }

    @Override
    public void fatal(String organ, Throwable cause) {
      throw new AssertionError("an explanation changes nothing");
    }

    @Override
    public void powerOff(String reason) {
      throw new AssertionError("an explanation changes nothing");
    }

    @Override
    public StopReason stopReason() {
      return StopReason.CODE_REPLACED;
    }
  }
}
