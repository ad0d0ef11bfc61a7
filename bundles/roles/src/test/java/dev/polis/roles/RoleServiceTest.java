package dev.polis.roles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.cluster.DisownedException;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.roles.RoleRecord;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.etcd.EtcdAccess;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TcpProxy;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthStatus;
import dev.polis.health.HealthTable;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.Severity;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.RunState;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.roles.Role;
import dev.polis.wire.version.Version;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.example.CountingRole;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Constants;

class RoleServiceTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  private static final RoleName BACKUP = new RoleName("NightlyBackup");

  private static final DataStatus MOUNTED =
      new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory");

  /** Returns the properties of a plugin's service. */
  private static final Map<String, Object> PROPERTIES =
      Map.of(RolePlugin.ROLE, BACKUP.text(), Constants.SERVICE_ID, 1L);

  private static final NodeReport REPORT = NodeReport.of(7835, Version.getDefaultInstance());

  @TempDir Path directory;

  private final RecordingCurator curator = new RecordingCurator();
  private final SupervisionTree tree = SupervisionTree.open(curator.logs);
  private final Subtree subtree = tree.organ("test");
  private final HealthTable table = HealthTable.open(tree);
  private final HealthScope scope = table.organ("test", "");

  @AfterEach
  void close() {
    table.close();
    tree.close();
    curator.close();
  }

  @Test
  @DisplayName("ROL-01 a boot id has 16 bytes, is not all zero, and differs at each boot")
  void rol01_bootId() {
    ByteString id = REPORT.bootId();
    assertEquals(16, id.size());
    assertNotEquals(ByteString.copyFrom(new byte[16]), id);
    assertNotEquals(id, NodeReport.of(7835, Version.getDefaultInstance()).bootId());
  }

  @Test
  @DisplayName("ROL-02 the status is reported once an address is known, and at each change only")
  void rol02_statusPush() throws Exception {
    MutableValue<NetworkStatus> network =
        new MutableValue<>(new NetworkStatus.Waiting("nothing yet"));
    MutableValue<CuratorStatus> local = new MutableValue<>(new CuratorStatus.Idle());
    AtomicBoolean keepsRecords = new AtomicBoolean(true);
    MutableValue<SortedSet<RoleName>> running = new MutableValue<>(new TreeSet<>());
    try (LeaderConnection connection = curator.connect()) {
      RoleStatusPush push =
          new RoleStatusPush(
              connection,
              network,
              local,
              cluster(keepsRecords::get),
              running,
              new MutableValue<>(""),
              REPORT,
              scope);
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
      running.set(new TreeSet<>(List.of(BACKUP, RoleName.CONSENSUS_MEMBER)));
      awaitReports(5);
      keepsRecords.set(false);
      local.set(new CuratorStatus.Campaigning("no leader known"));
      running.set(new TreeSet<>());
      awaitReports(6);
    }
    List<NodeStatus> reported = curator.reported;
    assertEquals("127.0.0.1", reported.get(0).getExternalAddress());
    assertEquals(16, reported.get(0).getBootId().size());
    assertEquals("127.0.0.2", reported.get(1).getExternalAddress());
    assertEquals(7835, reported.get(2).getRunningCurator().getPort());
    assertEquals(
        List.of(Fingerprint.of(curator.credentials.ca().issuing()).hex()),
        reported.getFirst().getTrustedCasList());
    assertFalse(reported.get(3).hasRunningCurator());
    assertEquals(Optional.of(new TreeSet<>()), RoleRecord.running(reported.get(3)));
    assertEquals(
        Optional.of(new TreeSet<>(List.of(RoleName.CONSENSUS_MEMBER, BACKUP))),
        RoleRecord.running(reported.get(4)));
    assertFalse(
        reported.get(5).hasRunningCurator(), "the curator of a node without records is reported");
  }

  private RoleHeartbeat heartbeat(LeaderConnection connection, Duration interval) {
    return new RoleHeartbeat(
        connection,
        interval,
        scope,
        InstantSource.system(),
        "192.0.2.1",
        () -> false,
        new MutableValue<>(""));
  }

  private Value<ClusterStatus> cluster(Callable<Boolean> keepsRecords) {
    return new MutableValue<>(
        Fake.of(
            ClusterStatus.class,
            "hasLocalConsensus",
            keepsRecords,
            "credentials",
            () -> Optional.of(curator.credentials)));
  }

  private void awaitReports(int count) throws Exception {
    Await.until(SOON, count + " reports of the status", () -> curator.reported.size() == count);
  }

  @Test
  @DisplayName("D-50 a failed report is repeated")
  void d50_reportIsRepeated() throws Exception {
    curator.refusals.set(2);
    try (LeaderConnection connection = curator.connect()) {
      RoleStatusPush push =
          new RoleStatusPush(
              connection,
              new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1"))),
              new MutableValue<>(new CuratorStatus.Idle()),
              cluster(() -> true),
              new MutableValue<>(new TreeSet<>()),
              new MutableValue<>(""),
              REPORT,
              scope);
      subtree.run("push", push::run);
      awaitReports(1);
    }
  }

  @Test
  @DisplayName("D-08 heartbeats arrive well within the time-out of 10 s")
  void d08_heartbeats() throws Exception {
    try (LeaderConnection connection = curator.connect()) {
      subtree.run("heartbeat", heartbeat(connection, Duration.ofMillis(20))::run);
      Await.until(SOON, "ten heartbeats", () -> curator.beats.get() >= 10);
    }
  }

  @Test
  @DisplayName(
      "health names a clock that differs from the leader's by more than a minute, until it is right again")
  void clockDiffers() throws Exception {
    AtomicReference<Duration> off = new AtomicReference<>(Duration.ofSeconds(55));
    InstantSource clock = () -> Instant.now().plus(off.get());
    try (var connection = curator.connect()) {
      subtree.run(
          "heartbeat",
          new RoleHeartbeat(
                  connection,
                  Duration.ofMillis(20),
                  scope,
                  clock,
                  "192.0.2.1",
                  () -> false,
                  new MutableValue<>(""))
              ::run);
      Await.until(SOON, "ten heartbeats", () -> curator.beats.get() >= 10);
      assertEquals(HealthLevel.UP, own().level());
      off.set(Duration.ofHours(1));
      awaitNamed(
          "this machine's clock is 60 min ahead of the leader's, so one of the two is wrong");
      off.set(Duration.ofDays(-1));
      awaitNamed(
          "this machine's clock is 1440 min behind the leader's, so one of the two is wrong");
      off.set(Duration.ofSeconds(-55));
      Await.until(SOON, "health to be well again", () -> named().isEmpty(), this::named);
    }
  }

  private void awaitNamed(String reason) throws Exception {
    Await.until(
        SOON, "health to say " + reason, () -> named().equals(Optional.of(reason)), this::named);
  }

  /** Returns the reason of a clock that differs; empty if all is well. */
  private Optional<String> named() {
    HealthStatus own = own();
    return own.code().equals("clock-differs") ? Optional.of(own.reason()) : Optional.empty();
  }

  @Test
  @DisplayName(
      "health names both addresses while another process has this node's id, and a node that keeps records is DOWN; the status is reported again when the other comes and when it is gone")
  void runsTwice() throws Exception {
    AtomicBoolean keepsRecords = new AtomicBoolean();
    MutableValue<String> copy = new MutableValue<>("");
    try (LeaderConnection connection = curator.connect()) {
      RoleStatusPush push =
          new RoleStatusPush(
              connection,
              new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("192.0.2.1"))),
              new MutableValue<>(new CuratorStatus.Idle()),
              cluster(keepsRecords::get),
              new MutableValue<>(new TreeSet<>()),
              copy,
              REPORT,
              scope);
      subtree.run("push", push::run);
      awaitReports(1);
      subtree.run(
          "heartbeat",
          new RoleHeartbeat(
                  connection,
                  Duration.ofMillis(20),
                  scope,
                  InstantSource.system(),
                  "192.0.2.1",
                  keepsRecords::get,
                  copy)
              ::run);
      curator.other.set("192.0.2.9");
      awaitReports(2);
      Await.until(
          SOON,
          "health to name both addresses",
          () ->
              own().code().equals("node-runs-twice")
                  && own().reason().contains("192.0.2.1")
                  && own().reason().contains("192.0.2.9"),
          () -> own().reason());
      assertEquals(HealthLevel.DEGRADED, own().level());
      keepsRecords.set(true);
      Await.until(SOON, "health to be DOWN", () -> own().level() == HealthLevel.DOWN);
      curator.other.set("");
      Await.until(SOON, "health to be well again", () -> own().level() == HealthLevel.UP);
      awaitReports(3);
      assertTrue(curator.processes.stream().allMatch(name -> name.contains("@")));
      assertEquals(1, curator.processes.size());
    }
  }

  @Test
  @DisplayName("a lost leader ends the report of another process, which the next one may not know")
  void runsTwiceUntilTheLeaderIsLost() throws Exception {
    try (LeaderConnection connection = curator.connect()) {
      subtree.run("heartbeat", heartbeat(connection, Duration.ofMillis(20))::run);
      curator.other.set("192.0.2.9");
      Await.until(SOON, "the report", () -> own().code().equals("node-runs-twice"));
      curator.close();
      Await.until(
          SOON,
          "the report to end",
          () -> !own().code().equals("node-runs-twice"),
          () -> own().reason());
    }
  }

  @Test
  @DisplayName("a heartbeat that gets no connection to the leader says so")
  void heartbeatWithoutConnection() throws Exception {
    InetSocketAddress silent =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), TcpProxy.freePort());
    try (LeaderConnection connection =
        new LeaderConnection(() -> curator.credentials, silent, curator.logs.log("test"))) {
      subtree.run("heartbeat", heartbeat(connection, Duration.ofMillis(20))::run);
      Await.until(
          SOON.multipliedBy(2),
          "the log to say why no heartbeat was sent",
          () ->
              logged(Severity.WARNING)
                  .contains(
                      "heartbeat stream ended: no connection to the leader took a heartbeat within 5 s"));
    }
  }

  @Test
  @DisplayName("D-08 even the longest possible interval leaves room for a lost heartbeat")
  void d08_longestInterval() throws Exception {
    long timeOut = Duration.ofSeconds(10).toMillis();
    try (LeaderConnection connection = curator.connect()) {
      RoleHeartbeat longest = heartbeat(connection, Duration.ofMillis(RoleSettings.MOST_MILLIS));
      Set<Long> pauses = new TreeSet<>();
      for (int draw = 0; draw < 10_000; draw++) {
        pauses.add(longest.jittered());
      }
      long most = Collections.max(pauses);
      assertTrue(
          2 * most <= timeOut,
          () -> "two pauses of %d ms do not fit into the time-out".formatted(most));
      assertTrue(pauses.size() > 100, "nodes that start together stay together");
    }
  }

  @Test
  @DisplayName("D-08 a heartbeat that waits for its next interval ends at once when it is stopped")
  void d08_cancelled() throws Exception {
    try (LeaderConnection connection = curator.connect()) {
      // Longer than the tree waits for a runnable that is stopped.
      subtree.run("heartbeat", heartbeat(connection, Duration.ofMinutes(10))::run);
      Await.until(SOON, "the first heartbeat", () -> curator.beats.get() == 1);
      assertEquals(List.of(), subtree.close(StopReason.CODE_REPLACED));
      assertEquals(1, curator.beats.get());
    }
  }

  @Test
  @DisplayName("the roles that the cluster wants are published, and remembered for the next start")
  void rolesAreRemembered() throws Exception {
    Root root = Root.at(directory);
    RememberedRoles remembered = new RememberedRoles(root.data().node().roles(), scope);
    MutableValue<LocalRoles> roles = new MutableValue<>();
    try (LeaderConnection connection = curator.connect()) {
      subtree.run(
          "record", new RoleRecordWatcher(connection, remembered, roles, new Charge())::run);
      curator.roles.set(RoleRecord.of(List.of(RoleName.KUBERNETES_WORKER, BACKUP)));
      Await.value(
          roles,
          now ->
              now.fromCluster() && now.roles().equals(Set.of(RoleName.KUBERNETES_WORKER, BACKUP)),
          SOON,
          "the roles that the cluster gave");
    }
    assertEquals(
        new TreeSet<>(List.of(RoleName.KUBERNETES_WORKER, BACKUP)),
        remembered.read(curator.logs.log("test")).orElseThrow().roles());
  }

  @Test
  @DisplayName("remembered roles that cannot be read are reported until the cluster's are written")
  void rolesThatCannotBeRead() throws Exception {
    FilePlacement file = Root.at(directory).data().node().roles();
    file.write("garbage".getBytes(StandardCharsets.UTF_8));
    RememberedRoles remembered = new RememberedRoles(file, scope);
    Log log = curator.logs.log("test");

    assertTrue(remembered.read(log).isEmpty());

    assertEquals(HealthLevel.DEGRADED, own().level());
    assertTrue(own().reason().contains(file.path().toString()), own().reason());
    remembered.write(new LocalRoles(new TreeSet<>(List.of(BACKUP)), true), log);
    assertEquals(HealthLevel.UP, own().level());
    assertTrue(own().reason().contains("written it again"), own().reason());
  }

  @Test
  @DisplayName("roles that cannot be written for the next start are reported, with what helps")
  void rolesThatCannotBeWritten() throws Exception {
    FilePlacement file = Root.at(directory).data().node().roles();
    Files.createDirectories(file.path().resolve("in the way"));

    new RememberedRoles(file, scope)
        .write(new LocalRoles(new TreeSet<>(), true), curator.logs.log("test"));

    assertEquals(HealthLevel.DEGRADED, own().level());
    assertTrue(own().remedy().contains("move what is there aside"), own().remedy());
  }

  @Test
  @DisplayName(
      "calls that do not get to the leader are reported after 10 s, and no more once one does")
  void leaderOutOfReach() {
    AtomicLong seconds = new AtomicLong();
    LeaderContact contact =
        new LeaderContact(
            scope,
            why -> HealthCondition.degraded("x", "no status got there " + why, ""),
            () -> TimeUnit.SECONDS.toNanos(seconds.get()));
    contact.failed("first");
    seconds.set(9);
    contact.failed("not yet");
    assertEquals(HealthLevel.UP, own().level());

    seconds.set(12);
    contact.failed("NOT_FOUND: no such node");
    assertEquals(HealthLevel.DEGRADED, own().level());
    assertEquals("no status got there for 12 s: NOT_FOUND: no such node", own().reason());

    contact.answered();
    assertEquals(HealthLevel.UP, own().level());
  }

  private HealthStatus own() {
    return table.all().peek().orElseThrow().getFirst();
  }

  @Test
  @DisplayName("a malformed role in the record is left out with a warning, the others count")
  void malformedRole() throws Exception {
    MutableValue<LocalRoles> roles = new MutableValue<>();
    try (LeaderConnection connection = curator.connect()) {
      subtree.run(
          "record",
          new RoleRecordWatcher(
                  connection,
                  new RememberedRoles(Root.at(directory).data().node().roles(), scope),
                  roles,
                  new Charge())
              ::run);
      curator.roles.set(
          RoleRecord.of(List.of(BACKUP)).toBuilder()
              .addOthers(Role.newBuilder().setName("from/the future"))
              .build());
      Await.value(roles, now -> now.roles().equals(Set.of(BACKUP)), SOON, "the good role");
    }
    assertTrue(
        logged(Severity.WARNING)
            .contains("the node ignores role \"from/the future\": it is not the name of a role"),
        () -> logged(Severity.WARNING).toString());
  }

  @Test
  @DisplayName("remembered roles run while the cluster cannot be reached, once the disk is open")
  void remembersWithoutCluster() throws Exception {
    Root root = Root.at(directory);
    new RememberedRoles(root.data().node().roles(), scope)
        .write(new LocalRoles(new TreeSet<>(List.of(BACKUP)), true), curator.logs.log("test"));
    MutableValue<DataStatus> data = new MutableValue<>(new DataStatus.NotMounted("not yet"));
    CountDownLatch started = new CountDownLatch(1);
    ClusterManager unreachable =
        Fake.of(
            ClusterManager.class,
            "awaitHome",
            () -> {
              new CountDownLatch(1).await();
              throw new AssertionError("not reached");
            });
    try (HealthTable health = HealthTable.open(tree)) {
      RoleService service = service(7835, health, data, unreachable);
      service.add(
          context -> {
            context.healthy();
            started.countDown();
            context.awaitCancelled();
          },
          PROPERTIES);
      assertTrue(service.roles().peek().isEmpty(), "the disk is not open yet");

      data.set(MOUNTED);

      assertTrue(started.await(SOON.toSeconds(), TimeUnit.SECONDS), "the role does not run");
      assertFalse(service.roles().peek().orElseThrow().fromCluster());
      awaitRunning(service, BACKUP);
      service.close(StopReason.CODE_REPLACED);
    }
  }

  @Test
  @DisplayName(
      "ROL-03 a role that the cluster gives and takes twice is run, ended and reported each time, without a restart")
  void rol03_clusterGivesAndTakes() throws Exception {
    ClusterStatus home = new Standing(ClusterState.HOME, Optional.of(curator.credentials));
    ClusterManager cluster =
        Fake.of(
            ClusterManager.class,
            "awaitHome",
            () -> home,
            "status",
            () -> new MutableValue<>(home));
    AtomicInteger runs = new AtomicInteger();
    try (HealthTable health = HealthTable.open(tree)) {
      RoleService service =
          service(curator.address().getPort(), health, new MutableValue<>(MOUNTED), cluster);
      service.add(
          context -> {
            runs.incrementAndGet();
            context.healthy();
            context.awaitCancelled();
          },
          PROPERTIES);
      awaitReported();
      Await.until(SOON, "ten heartbeats at the set pace", () -> curator.beats.get() >= 10);
      for (int round = 1; round <= 2; round++) {
        curator.roles.set(RoleRecord.of(List.of(BACKUP)));
        awaitRunning(service, BACKUP);
        awaitReported(BACKUP);
        assertEquals(round, runs.get(), "the role was run again in between");
        assertTrue(healthOf(health).isPresent(), "its health is not there");

        curator.roles.set(RoleRecord.of(List.of()));
        awaitRunning(service);
        awaitReported();
        Await.until(SOON, "its health to be taken back", () -> healthOf(health).isEmpty());
        assertEquals(Set.of(), service.roles().peek().orElseThrow().roles());
      }
      service.close(StopReason.CODE_REPLACED);
    }
    assertEquals(List.of(), logged(Severity.ERROR));
  }

  /** Is the standing of a node with its own consensus. */
  private record Standing(ClusterState state, Optional<NodeCredentials> credentials)
      implements ClusterStatus {

    @Override
    public String reason() {
      return "the test says so";
    }

    @Override
    public boolean hasLocalConsensus() {
      return true;
    }

    @Override
    public EtcdAccess consensusClient(ConsensusUser user) {
      throw new AssertionError("the role server uses no etcd");
    }
  }

  @Test
  @DisplayName("the roles of a node that the cluster has removed end, and are not remembered")
  void disowned() throws Exception {
    MutableValue<ClusterStatus> status =
        new MutableValue<>(new Standing(ClusterState.HOME, Optional.of(curator.credentials)));
    ClusterManager cluster =
        Fake.of(
            ClusterManager.class,
            "awaitHome",
            () -> {
              ClusterStatus now = status.peek().orElseThrow();
              if (now.state() == ClusterState.DISOWNING) {
                throw new DisownedException(now.reason());
              }
              return now;
            },
            "status",
            () -> status);
    try (HealthTable health = HealthTable.open(tree)) {
      RoleService service =
          service(curator.address().getPort(), health, new MutableValue<>(MOUNTED), cluster);
      service.add(
          context -> {
            context.healthy();
            context.awaitCancelled();
          },
          PROPERTIES);
      curator.roles.set(RoleRecord.of(List.of(BACKUP)));
      awaitRunning(service, BACKUP);

      status.set(new Standing(ClusterState.DISOWNING, Optional.empty()));

      awaitRunning(service);
      assertEquals(Set.of(), service.roles().peek().orElseThrow().roles());
      RememberedRoles remembered =
          new RememberedRoles(Root.at(directory).data().node().roles(), scope);
      assertEquals(Set.of(), remembered.read(curator.logs.log("test")).orElseThrow().roles());
      Await.value(
          tree.runnables(),
          runs ->
              runs.stream()
                  .anyMatch(
                      run -> run.dn().equals("root.roles.server") && run.state() == RunState.DONE),
          SOON,
          "the calls to the leader to end");
      service.close(StopReason.CODE_REPLACED);
    }
  }

  private static Optional<HealthStatus> healthOf(HealthTable health) {
    return health.all().peek().orElseThrow().stream()
        .filter(status -> status.name().equals(BACKUP.text()))
        .findFirst();
  }

  private static void awaitRunning(RoleService service, RoleName... roles) throws Exception {
    Await.value(
        service.running(), now -> now.equals(Set.of(roles)), SOON, "running: " + List.of(roles));
  }

  private void awaitReported(RoleName... roles) throws Exception {
    Await.until(
        SOON,
        "a report of running roles: " + List.of(roles),
        () ->
            !curator.reported.isEmpty()
                && RoleRecord.running(curator.reported.getLast())
                    .equals(Optional.of(new TreeSet<>(List.of(roles)))));
  }

  /** Runs two instances of the organ; the second continues from the state of the first. */
  private final class Two implements AutoCloseable {
    final CountingRole plugin = new CountingRole();
    final HandOverTable handOvers = HandOverTable.open(curator.logs);
    final HealthTable health = HealthTable.open(tree);
    final HandOvers.Membership<RoleService> first = join();
    final RoleService one = first.instance();

    Two() throws Exception {
      one.add(plugin, PROPERTIES);
      one.expectNoMorePlugins();
      curator.roles.set(RoleRecord.of(List.of(BACKUP)));
      awaitRunning(one, BACKUP);
    }

    HandOvers.Membership<RoleService> join() {
      ClusterStatus home = new Standing(ClusterState.HOME, Optional.of(curator.credentials));
      ClusterManager cluster =
          Fake.of(
              ClusterManager.class,
              "awaitHome",
              () -> home,
              "status",
              () -> new MutableValue<>(home));
      return handOvers.join(
          "roles",
          predecessor ->
              service(
                  curator.address().getPort(),
                  health,
                  new MutableValue<>(MOUNTED),
                  cluster,
                  predecessor.take()));
    }

    /** Ends an instance as the framework does when its bundle is stopped. */
    void retire(HandOvers.Membership<RoleService> membership) {
      membership.leave();
      membership.instance().remove(plugin);
    }

    @Override
    public void close() {
      health.close();
    }
  }

  @Test
  @DisplayName("a second instance continues the roles of the first: no run ends or begins")
  void aSecondInstanceGoesOnWithTheRuns() throws Exception {
    try (Two two = new Two()) {
      HandOvers.Membership<RoleService> second = two.join();
      assertEquals(Optional.of(Set.of(BACKUP)), second.instance().running().peek());
      assertEquals(two.one.roles().peek(), second.instance().roles().peek());
      second.instance().add(two.plugin, PROPERTIES);
      second.instance().expectNoMorePlugins();
      assertEquals(
          Optional.of(Set.of(BACKUP)),
          two.one.running().peek(),
          "the runs stay with the first instance");

      two.retire(two.first);

      assertEquals(List.of("begins"), two.plugin.events());
      assertEquals(Optional.of(Set.of(BACKUP)), second.instance().running().peek());
      curator.roles.set(RoleRecord.of(List.of()));
      awaitRunning(second.instance());
      Await.until(
          SOON,
          "the run to end because the role was taken away",
          () -> two.plugin.events().equals(List.of("begins", "ends: ROLE_REMOVED")));
      curator.roles.set(RoleRecord.of(List.of(BACKUP)));
      awaitRunning(second.instance(), BACKUP);
      two.retire(second);
      assertEquals("ends: CODE_REPLACED", two.plugin.events().getLast());
    }
    assertEquals(List.of(), logged(Severity.ERROR));
  }

  @Test
  @DisplayName("a second instance that ends first gives the runs back: none ends or begins")
  void theRunsAreGivenBack() throws Exception {
    try (Two two = new Two()) {
      HandOvers.Membership<RoleService> second = two.join();
      second.instance().add(two.plugin, PROPERTIES);
      second.instance().expectNoMorePlugins();

      two.retire(second);

      assertEquals(List.of("begins"), two.plugin.events());
      assertEquals(Optional.of(Set.of(BACKUP)), two.one.running().peek());
      CountingRole update = new CountingRole();
      two.one.add(update, Map.of(RolePlugin.ROLE, BACKUP.text(), Constants.SERVICE_ID, 2L));
      assertEquals(List.of("begins", "ends: CODE_REPLACED"), two.plugin.events());
      Await.until(SOON, "the update to run", () -> update.events().equals(List.of("begins")));
      two.retire(two.first);
      assertEquals(List.of("begins", "ends: CODE_REPLACED"), update.events());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"run-of-role", "running-roles"})
  @DisplayName("an instance that cannot read the state it takes leaves nothing behind")
  void aStateThatCannotBeRead(String name) {
    OrganState other = OrganState.NONE.with(name, "another type");
    MutableValue<DataStatus> data = new MutableValue<>(MOUNTED);
    ClusterManager cluster = Fake.of(ClusterManager.class);

    assertThrows(HandOverException.class, () -> service(1, table, data, cluster, other));

    assertTrue(
        tree.runnables().peek().orElseThrow().stream()
            .noneMatch(each -> each.dn().startsWith("root.roles")));
    assertTrue(
        table.all().peek().orElseThrow().stream().noneMatch(each -> each.name().equals("roles")));
  }

  @Test
  @DisplayName("a run ends if its plugin was removed during the hand-over")
  void aPluginThatIsGoneAfterTheHandOver() throws Exception {
    try (Two two = new Two()) {
      HandOvers.Membership<RoleService> second = two.join();
      second.instance().expectNoMorePlugins();
      assertEquals(List.of("begins", "ends: CODE_REPLACED"), two.plugin.events());
      two.retire(two.first);
      two.retire(second);
    }
  }

  private RoleService service(
      int curatorPort, HealthTable health, Value<DataStatus> data, ClusterManager cluster) {
    return service(curatorPort, health, data, cluster, OrganState.NONE);
  }

  private RoleService service(
      int curatorPort,
      HealthTable health,
      Value<DataStatus> data,
      ClusterManager cluster,
      OrganState taken) {
    Root root = Root.at(directory);
    return new RoleService(
        new RoleSettings(Duration.ofMillis(20), curatorPort),
        new RoleService.Parts(
            org.osgi.framework.Version.emptyVersion,
            Fake.of(BootReport.class, "stopReason", () -> StopReason.CODE_REPLACED),
            curator.logs,
            tree,
            health,
            cluster,
            Fake.of(Storage.class, "data", () -> data, "root", () -> root),
            Fake.of(
                Network.class,
                "status",
                () -> new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")))),
            Fake.of(
                Consensus.class,
                "status",
                () -> new MutableValue<>(new ConsensusStatus.Failed("no etcd can be reached")),
                "localMember",
                Optional::empty),
            Fake.of(Curator.class, "status", () -> new MutableValue<>(new CuratorStatus.Idle()))),
        taken);
  }

  private List<String> logged(Severity atLeast) {
    try (LogReader reader =
        curator.logs.read(
            LogQuery.of("root").withChildren().backlogAll().minimumSeverity(atLeast))) {
      return reader.backlog().stream()
          .map(LogEntry::payload)
          .map(payload -> String.join("\n", ((LogPayload.Leveled) payload).lines()))
          .toList();
    }
  }
}
