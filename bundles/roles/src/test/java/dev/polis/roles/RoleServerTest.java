package dev.polis.roles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.Role;
import dev.polis.api.roles.RolePlugin;
import dev.polis.event.MutableValue;
import dev.polis.event.Values;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.Severity;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.version.Version;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RoleServerTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  @TempDir Path directory;

  private final RecordingCurator curator = new RecordingCurator();
  private final SupervisionTree tree = SupervisionTree.open(curator.logs);
  private final Subtree subtree = tree.organ("roles");

  @AfterEach
  void close() {
    tree.close();
    curator.close();
  }

  @Test
  @DisplayName("ROL-01 a boot id is 16 bytes, not all zero, and another at each boot")
  void rol01_bootId() {
    ByteString id = RoleComponent.bootId();
    assertEquals(16, id.size());
    assertNotEquals(ByteString.copyFrom(new byte[16]), id);
    assertNotEquals(id, RoleComponent.bootId());
  }

  @Test
  @DisplayName("ROL-02 the status is reported once an address is known, and at each change only")
  void rol02_statusPush() throws Exception {
    MutableValue<NetworkStatus> network =
        new MutableValue<>(new NetworkStatus.Waiting("nothing yet"));
    MutableValue<CuratorStatus> local = new MutableValue<>(new CuratorStatus.Idle());
    try (RoleConnection connection = curator.connect()) {
      RoleStatusPush push =
          new RoleStatusPush(
              connection,
              network,
              local,
              7835,
              RoleComponent.bootId(),
              Version.getDefaultInstance());
      assertTrue(push.status().isEmpty(), "there is nothing to report without an address");
      subtree.run("push", push::run);
      network.set(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")));
      awaitReports(1);
      network.set(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")));
      network.set(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.2")));
      awaitReports(2);
      local.set(new CuratorStatus.Leading(1));
      awaitReports(3);
      local.set(new CuratorStatus.Idle());
      awaitReports(4);
    }
    List<NodeStatus> reported = curator.reported;
    assertEquals("127.0.0.1", reported.get(0).getExternalAddress());
    assertEquals(16, reported.get(0).getBootId().size());
    assertEquals("127.0.0.2", reported.get(1).getExternalAddress());
    assertEquals(7835, reported.get(2).getRunningCurator().getPort());
    assertFalse(reported.get(3).hasRunningCurator());
  }

  private void awaitReports(int count) throws Exception {
    Await.until(SOON, count + " reports of the status", () -> curator.reported.size() == count);
  }

  @Test
  @DisplayName("D-50 a report that failed is repeated")
  void d50_reportIsRepeated() throws Exception {
    curator.refusals.set(2);
    try (RoleConnection connection = curator.connect()) {
      RoleStatusPush push =
          new RoleStatusPush(
              connection,
              new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1"))),
              new MutableValue<>(new CuratorStatus.Idle()),
              7835,
              RoleComponent.bootId(),
              Version.getDefaultInstance());
      subtree.run("push", push::run);
      awaitReports(1);
    }
  }

  @Test
  @DisplayName("D-08 heartbeats come well within the time-out of 10 s")
  void d08_heartbeats() throws Exception {
    try (RoleConnection connection = curator.connect()) {
      subtree.run("heartbeat", new RoleHeartbeat(connection, Duration.ofMillis(20))::run);
      Await.until(SOON, "ten heartbeats", () -> curator.beats.get() >= 10);
    }
  }

  @Test
  void givenRolesOfTheCluster_thenTheyArePublishedAndRemembered() throws Exception {
    Root root = Root.at(directory);
    MutableValue<LocalRoles> roles = new MutableValue<>();
    try (RoleConnection connection = curator.connect()) {
      subtree.run("fetch", new RoleFetch(connection, root.data().node().roles(), roles)::run);
      curator.roles.set(
          NodeRoles.newBuilder()
              .setKubernetesWorker(NodeRoles.KubernetesWorker.getDefaultInstance())
              .build());
      Values.await(
          roles,
          now -> now.fromCluster() && now.roles().equals(Set.of(Role.KUBERNETES_WORKER)),
          SOON,
          "the role that the cluster gave");
    }
    MutableValue<LocalRoles> later = new MutableValue<>();
    curator.close();
    try (RoleConnection nobody = curator.connect()) {
      subtree.run("offline", new RoleFetch(nobody, root.data().node().roles(), later)::run);
      Values.await(
          later,
          now -> !now.fromCluster() && now.roles().equals(Set.of(Role.KUBERNETES_WORKER)),
          SOON,
          "the remembered role, without a cluster");
    }
  }

  @Test
  @DisplayName("ROL-03 a role that comes and goes twice leaves no FATAL and is not delayed")
  void rol03_rolesComeAndGo() throws Exception {
    AtomicInteger running = new AtomicInteger();
    AtomicInteger starts = new AtomicInteger();
    RolePlugin plugin =
        context -> {
          starts.incrementAndGet();
          running.incrementAndGet();
          try {
            context.healthy();
            context.awaitCancelled();
          } finally {
            running.decrementAndGet();
          }
        };
    RolePlugins plugins = new RolePlugins(subtree, curator.logs.log("root.roles"));
    plugins.add(plugin, Role.KUBERNETES_WORKER);
    for (int round = 1; round <= 2; round++) {
      plugins.want(new LocalRoles(Set.of(Role.KUBERNETES_WORKER), true));
      Await.until(SOON, "the role to run", () -> running.get() == 1);
      assertEquals(round, starts.get());
      plugins.want(new LocalRoles(Set.of(), true));
      assertEquals(0, running.get(), "want returns when the role has ended");
    }
    plugins.want(new LocalRoles(Set.of(Role.KUBERNETES_WORKER), true));
    Await.until(SOON, "the role to run", () -> running.get() == 1);
    plugins.remove(plugin);
    assertEquals(0, running.get(), "a plugin that goes takes its work along");
    assertEquals(List.of(), fatals());
  }

  private List<LogEntry> fatals() {
    try (LogReader reader =
        curator.logs.read(
            LogQuery.of("root").withChildren().backlogAll().minimumSeverity(Severity.FATAL))) {
      return reader.backlog();
    }
  }
}
