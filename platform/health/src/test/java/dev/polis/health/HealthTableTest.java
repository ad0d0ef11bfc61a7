package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class HealthTableTest {
  private static final Instant NOON = Instant.parse("2026-01-01T12:00:00Z");

  private final SupervisionTree tree = SupervisionTree.open(LogTree.create());
  private final HealthTable health = HealthTable.open(tree);

  @AfterEach
  void close() {
    health.close();
    tree.close();
  }

  @Test
  @DisplayName("an organ without runnables and conditions is UP")
  void quietOrganIsUp() {
    health.organ("storage", "");

    HealthStatus status = only();

    assertEquals(HealthLevel.UP, status.level());
    assertEquals("up", status.code());
    assertEquals("", status.reason());
    assertEquals(List.of(), status.conditions());
  }

  @Test
  @DisplayName("a runnable that is NEW makes its organ WAITING, a healthy one UP")
  void newRunnableMakesWaiting() throws Exception {
    Subtree organ = tree.organ("network");
    health.organ("network", organ.dn());
    CountDownLatch go = new CountDownLatch(1);
    organ.run(
        "watch",
        context -> {
          go.await();
          context.healthy();
          context.awaitCancelled();
        });

    HealthStatus waiting = await(at -> at.level() == HealthLevel.WAITING, "network to wait");
    go.countDown();
    HealthStatus up = await(at -> at.level() == HealthLevel.UP, "network to be UP");

    assertEquals("runnable-starting", waiting.code());
    assertTrue(waiting.reason().contains("root.network.watch"), waiting.reason());
    assertEquals("up", up.code());
  }

  @Test
  @DisplayName(
      "a runnable that does not become healthy is shown with its place in the code, once it is late")
  void lateRunnable() throws Exception {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    try (HealthTable table = HealthTable.open(tree, OrganDirectory.empty(), now::get)) {
      Subtree organ = tree.organ("network");
      table.organ("network", organ.dn());
      organ.run("watch", context -> awaitCable(new CountDownLatch(1)));
      Await.until(
          "the thread to wait",
          () ->
              tree.stack("root.network.watch").stream()
                  .anyMatch(frame -> frame.getMethodName().equals("awaitCable")));
      Instant began =
          tree.runnables().peek().orElseThrow().stream()
              .filter(each -> each.dn().equals("root.network.watch"))
              .findFirst()
              .orElseThrow()
              .since();

      now.set(began.plusMillis(4_999));
      assertEquals(
          "root.network.watch was started and does not work yet",
          table.all().peek().orElseThrow().getFirst().reason());
      now.set(began.plusSeconds(5));
      String reason = table.all().peek().orElseThrow().getFirst().reason();
      assertTrue(
          reason.matches(
              "root.network.watch was started and does not work yet; it is in"
                  + " java.util.concurrent.CountDownLatch.await, called by"
                  + " dev.polis.health.HealthTableTest.awaitCable:\\d+, called by .*"),
          reason);
    }
  }

  @Test
  @DisplayName("beside what is to be done, no remedy says that nothing is")
  void oneRemedy() throws Exception {
    HealthScope scope = health.role("Worker", "");
    HealthCondition idle =
        HealthCondition.degraded("idle", "it is late", "nothing: it is tried again");
    scope.set(idle);
    HealthStatus alone = await(at -> at.level() == HealthLevel.DEGRADED, "the role to be DEGRADED");
    assertEquals(List.of(idle), alone.conditions());
    scope.set(HealthCondition.down("port", "its port is taken", "free the port"));
    HealthStatus both = await(at -> at.level() == HealthLevel.DOWN, "the role to be DOWN");
    assertEquals(
        List.of("free the port", ""),
        both.conditions().stream().map(HealthCondition::remedy).toList());
  }

  @Test
  @DisplayName("a trouble that the table knows a remedy for never says that nothing is to be done")
  void noIdleRemedy() throws Exception {
    HealthScope scope = health.role("Worker", "");
    scope.set(
        HealthCondition.degraded(
            "objects", "failed calling webhook \"w\": EOF", "nothing: it is tried again"));
    HealthStatus told = await(at -> at.level() == HealthLevel.DEGRADED, "the role to be DEGRADED");
    assertTrue(told.remedy().startsWith("start again what the webhook w calls"), told.remedy());
  }

  @Test
  @DisplayName("a late run that follows a failure is shown with the failure, and no code")
  void lateAfterFailure() throws Exception {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    AtomicReference<Exception> failure = new AtomicReference<>(new IOException("the cable is cut"));
    try (HealthTable table = HealthTable.open(tree, OrganDirectory.empty(), now::get)) {
      Subtree organ = tree.organ("network");
      table.organ("network", organ.dn());
      organ.run(
          "watch",
          context -> {
            Exception first = failure.getAndSet(null);
            if (first != null) {
              throw first;
            }
            awaitCable(new CountDownLatch(1));
          });
      Await.until(
          "the second run to wait",
          () ->
              tree.stack("root.network.watch").stream()
                  .anyMatch(frame -> frame.getMethodName().equals("awaitCable")));
      now.set(Instant.now().plusSeconds(60));
      assertEquals(
          "root.network.watch has failed: the cable is cut; it was started again and does not work yet",
          table.all().peek().orElseThrow().getFirst().reason());
    }
  }

  private static void awaitCable(CountDownLatch cable) throws InterruptedException {
    cable.await();
  }

  @Test
  @DisplayName(
      "a runnable that dies makes its organ DOWN with its error, until it is healthy again")
  void deadRunnableMakesDown() throws Exception {
    Subtree organ = tree.organ("network");
    health.organ("network", organ.dn());
    CountDownLatch mended = new CountDownLatch(1);
    organ.run(
        "watch",
        context -> {
          if (mended.getCount() > 0) {
            throw new IOException("the cable is out");
          }
          context.healthy();
          context.awaitCancelled();
        });

    HealthStatus down = await(at -> at.level() == HealthLevel.DOWN, "network to be DOWN");
    assertEquals("runnable-failed", down.code());
    assertTrue(down.reason().contains("the cable is out"), down.reason());
    assertTrue(down.remedy().contains("root.network.watch"), down.remedy());

    mended.countDown();
    await(at -> at.level() == HealthLevel.UP, "network to be UP");
  }

  @Test
  @DisplayName("if an organ gives a remedy, the advice to read the log is left out")
  void ownRemedyComesAlone() throws Exception {
    Subtree organ = tree.organ("network");
    HealthScope scope = health.organ("network", organ.dn());
    organ.run(
        "watch",
        context -> {
          throw new IOException("the cable is out");
        });
    await(at -> at.remedy().startsWith("see its log"), "network to be DOWN");

    scope.set(HealthCondition.down("no-cable", "no cable is plugged in", "plug one in"));

    HealthStatus down = only();
    assertEquals(
        List.of("", "plug one in"),
        down.conditions().stream().map(HealthCondition::remedy).sorted().toList());
  }

  @Test
  @DisplayName("the run after a failure does not hide the failure until it is healthy")
  void restartDoesNotHideTheFailure() throws Exception {
    Subtree organ = tree.organ("network");
    health.organ("network", organ.dn());
    CountDownLatch second = new CountDownLatch(2);
    organ.run(
        "watch",
        context -> {
          second.countDown();
          if (second.getCount() > 0) {
            throw new IOException("the cable is out");
          }
          context.awaitCancelled();
        });
    second.await();

    HealthStatus status =
        await(at -> at.reason().contains("started again"), "the report of the second run");

    assertEquals(HealthLevel.DOWN, status.level());
    assertTrue(status.reason().contains("the cable is out"), status.reason());
  }

  @Test
  @DisplayName("runnables of another organ whose name has the same beginning do not count")
  void subtreeEndsAtItsName() throws Exception {
    Subtree other = tree.organ("storage-2");
    other.run(
        "mount",
        context -> {
          throw new IOException("no disk");
        });
    health.organ("storage", "root.storage");
    health.organ("storage-2", other.dn());
    await(all -> all.get(1).level() == HealthLevel.DOWN, "storage-2 to be DOWN", health);

    assertEquals(HealthLevel.UP, health.all().peek().orElseThrow().getFirst().level());
  }

  @Test
  @DisplayName("the worst condition is the status, the others are listed after it by severity")
  void worstConditionCounts() {
    HealthScope scope = health.organ("storage", "");
    scope.set(HealthCondition.up("mode", "the volume is ENCRYPTED"));
    scope.set(
        HealthCondition.degraded(
            "recovery-key-beside-volume", "the key lies beside the volume", "move it"));

    HealthStatus status = only();

    assertEquals(HealthLevel.DEGRADED, status.level());
    assertEquals("recovery-key-beside-volume", status.code());
    assertEquals("move it", status.remedy());
    assertEquals(
        List.of("recovery-key-beside-volume", "mode"),
        status.conditions().stream().map(HealthCondition::code).toList());
  }

  @Test
  @DisplayName("a condition of the same code replaces the former, and a cleared one disappears")
  void conditionsAreReplacedAndCleared() {
    HealthScope scope = health.organ("storage", "");
    scope.set(HealthCondition.degraded("disk-full", "90 % are used", ""));
    scope.set(HealthCondition.down("disk-full", "100 % are used", ""));
    assertEquals("100 % are used", only().reason());
    assertEquals(1, only().conditions().size());

    scope.clear("disk-full");
    scope.clear("never-set");

    assertEquals(HealthLevel.UP, only().level());
  }

  @Test
  @DisplayName(
      "the field since is the time at which the level of the worst condition began, not of a change of its text")
  void sinceIsWhenItBegan() {
    Instant[] now = {NOON};
    InstantSource clock = () -> now[0];
    try (HealthTable dated = HealthTable.open(tree, OrganDirectory.empty(), clock)) {
      HealthScope scope = dated.organ("storage", "");
      now[0] = NOON.plusSeconds(10);
      scope.set(HealthCondition.degraded("disk-full", "90 % are used", ""));
      now[0] = NOON.plusSeconds(20);
      scope.set(HealthCondition.degraded("disk-full", "91 % are used", ""));
      assertEquals(NOON.plusSeconds(10), dated.all().peek().orElseThrow().getFirst().since());

      now[0] = NOON.plusSeconds(30);
      scope.set(HealthCondition.down("disk-full", "100 % are used", ""));
      assertEquals(NOON.plusSeconds(30), dated.all().peek().orElseThrow().getFirst().since());
    }
  }

  @Test
  @DisplayName("a role has the conditions of all its scopes, from its server and from its plugin")
  void scopesOfARoleAddUp() {
    HealthScope server = health.role("Backup", "");
    try (HealthScope plugin = health.role("Backup", "")) {
      plugin.set(HealthCondition.degraded("no-tape", "there is no tape", "put one in"));
      server.set(HealthCondition.down("no-disk", "the disk is gone", ""));
      assertEquals(
          List.of("no-disk", "no-tape"),
          only().conditions().stream().map(HealthCondition::code).toList());
      assertEquals(HealthLevel.DOWN, only().level());
      server.clear("no-disk");
      assertEquals("no-tape", only().code());
    }
    assertEquals("up", only().code());
    server.close();
    assertEquals(List.of(), health.all().peek().orElseThrow());
  }

  @Test
  @DisplayName("of two instances of an organ only the newest one's runnables count")
  void instances() throws Exception {
    Subtree first = tree.organ("storage");
    health.organ("storage", first.dn());
    first.run(
        "volume",
        context -> {
          throw new java.io.IOException("the disk is gone");
        });
    await(at -> at.level() == HealthLevel.DOWN, "the first instance to be DOWN");

    Subtree second = tree.organ("storage");
    try (HealthScope scope = health.organ("storage", second.dn())) {
      assertEquals("up", only().code(), scope::toString);
      second.run("volume", Context::awaitCancelled);
      HealthStatus status = await(at -> at.level() == HealthLevel.WAITING, "the second to start");
      assertTrue(status.reason().contains("root.storage~2.volume"), status.reason());
    }
    assertEquals(HealthLevel.DOWN, only().level(), "the second has ended, the first is there");
  }

  @Test
  @DisplayName(
      "of two scopes with one name the newest counts, also if the older one is closed first")
  void newestScopeCounts() {
    HealthScope older = health.organ("storage", "");
    older.set(HealthCondition.down("broken", "the old one is broken", ""));
    HealthScope newer = health.organ("storage", "");
    assertEquals(HealthLevel.UP, only().level());

    newer.set(HealthCondition.degraded("slow", "the new one is slow", ""));
    older.close();
    assertEquals("slow", only().code());

    newer.close();
    assertEquals(List.of(), health.all().peek().orElseThrow());
  }

  @Test
  @DisplayName("an organ and a role with one name have two statuses, organs first")
  void organsAndRolesAreApart() {
    health.role("storage", "");
    health.organ("storage", "");
    health.organ("network", "");

    List<HealthStatus> all = health.all().peek().orElseThrow();

    assertEquals(
        List.of("network", "storage", "storage"), all.stream().map(HealthStatus::name).toList());
    assertEquals(
        List.of(HealthKind.ORGAN, HealthKind.ORGAN, HealthKind.ROLE),
        all.stream().map(HealthStatus::kind).toList());
  }

  @Test
  @DisplayName("an absent organ is listed with the reason and the time of its absence")
  void absentOrganIsListed() {
    Instant[] now = {NOON};
    OrganDirectory absent =
        new StubOrgans(
            Map.of(),
            new OrganDirectory.Absent(
                "storage", HealthCondition.down("stopped", "stopped by hand", "start it")));
    try (HealthTable table = HealthTable.open(tree, absent, () -> now[0])) {
      HealthScope scope = table.organ("storage", "");
      now[0] = NOON.plusSeconds(60);
      scope.close();
      now[0] = NOON.plusSeconds(90);

      HealthStatus status = table.all().peek().orElseThrow().getFirst();

      assertEquals(HealthLevel.DOWN, status.level());
      assertEquals("stopped by hand", status.reason());
      assertEquals(NOON.plusSeconds(60), status.since());
    }
  }

  @Test
  @DisplayName("a scope, a condition and a runnable wake a watcher")
  void watcherFollows() throws Exception {
    try (Watcher<List<HealthStatus>> watcher = health.all().watch()) {
      Subtree organ = tree.organ("debug");
      HealthScope scope = health.organ("debug", organ.dn());
      watcher.get(all -> all.size() == 1, Duration.ofSeconds(10));
      scope.set(HealthCondition.degraded("open", "debug is open", ""));
      watcher.get(all -> all.getFirst().level() == HealthLevel.DEGRADED, Duration.ofSeconds(10));
      organ.run(
          "fall",
          context -> {
            throw new IOException("fallen");
          });
      watcher.get(all -> all.getFirst().level() == HealthLevel.DOWN, Duration.ofSeconds(10));
    }
  }

  @Test
  @DisplayName("a condition without a reason, or with a code that is not in kebab-case, is refused")
  void badConditionsAreRefused() {
    IllegalArgumentException code =
        assertThrows(
            IllegalArgumentException.class, () -> HealthCondition.up("Disk Full", "it is full"));
    assertTrue(code.getMessage().contains("Disk Full"), code.getMessage());
    IllegalArgumentException reason =
        assertThrows(IllegalArgumentException.class, () -> HealthCondition.up("disk-full", " "));
    assertTrue(reason.getMessage().contains("disk-full"), reason.getMessage());
  }

  private HealthStatus only() {
    List<HealthStatus> all = health.all().peek().orElseThrow();
    assertEquals(1, all.size(), () -> "one status expected: " + all);
    return all.getFirst();
  }

  private HealthStatus await(Predicate<HealthStatus> wanted, String what)
      throws InterruptedException, TimeoutException {
    return await(all -> wanted.test(all.getFirst()), what, health).getFirst();
  }

  private static List<HealthStatus> await(
      Predicate<List<HealthStatus>> wanted, String what, HealthRegistry registry)
      throws InterruptedException, TimeoutException {
    return Await.value(registry.all(), wanted, Duration.ofSeconds(10), what);
  }
}
