package dev.polis.convergence;

import static dev.polis.convergence.TestPlugins.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthTable;
import dev.polis.pki.NodeId;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.cluster.PluginHolder;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.ReportedPlugin.Decision;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import dev.polis.wire.net.Net;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import dev.polis.wire.plugins.PluginsGrpc;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Lets a cluster, reached over TLS, want plugins on a node with a real store. */
@Timeout(60)
class ConvergenceServiceTest {
  private static final String A = "dev.polis.a";
  private static final String MORE = "org.example.more";
  private static final RoleName BACKUP = new RoleName("NightlyBackup");

  @TempDir Path folder;
  private final TestCluster cluster = new TestCluster();
  private final SupervisionTree tree = SupervisionTree.open(cluster.logs);
  private final HealthTable health = HealthTable.open(tree);
  private final MutableValue<LocalRoles> roles =
      new MutableValue<>(new LocalRoles(new TreeSet<>(), true));
  private TestPlugins plugins;
  private ConvergenceService service;

  @BeforeEach
  void start() throws Exception {
    plugins = new TestPlugins(folder, plugin(A, "1.0.0"), plugin("dev.polis.b", "1.0.0"));
    service =
        new ConvergenceService(
            new ConvergenceSettings(cluster.address().getPort(), Duration.ofMillis(200)),
            new ConvergenceService.Parts(
                tree, health, plugins, network(), cluster.manager(), roleServer()));
  }

  @AfterEach
  void stop() {
    service.close(StopReason.CODE_REPLACED);
    health.close();
    tree.close();
    cluster.close();
  }

  private static Network network() {
    return new Network() {
      @Override
      public Value<NetworkStatus> status() {
        return new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")));
      }

      @Override
      public void publishLocalName(NodeId node) {
        throw new AssertionError("this organ publishes no name");
      }

      @Override
      public void publishNames(Map<NodeId, InetAddress> nodes) {
        throw new AssertionError("this organ publishes no names");
      }

      @Override
      public void configure(Net configuration) {
        throw new AssertionError("this organ configures no network");
      }

      @Override
      public Value<ClockStatus> clock() {
        return new MutableValue<>(new ClockStatus.NotKept("", ""));
      }

      @Override
      public void keepClock(List<String> timeServers) {
        throw new AssertionError("this organ keeps no clock");
      }
    };
  }

  private LocalRoleServer roleServer() {
    return new LocalRoleServer() {
      @Override
      public Value<LocalRoles> roles() {
        return roles;
      }

      @Override
      public Value<SortedSet<RoleName>> running() {
        return new MutableValue<>(new TreeSet<>());
      }
    };
  }

  private static WantedPlugin everywhere(StoredPlugin plugin) {
    return wanted(
        plugin,
        PluginScope.newBuilder().setEverywhere(PluginScope.Everywhere.getDefaultInstance()));
  }

  private static WantedPlugin role(RoleName role, StoredPlugin plugin) {
    return wanted(plugin, PluginScope.newBuilder().setRole(role.text()));
  }

  private WantedPlugin pin(StoredPlugin plugin) {
    return wanted(plugin, PluginScope.newBuilder().setNodeId(cluster.self.id().text()));
  }

  private static WantedPlugin wanted(StoredPlugin plugin, PluginScope.Builder scope) {
    return WantedPlugin.newBuilder()
        .setScope(scope)
        .setSymbolicName(plugin.symbolicName())
        .setVersion(plugin.version())
        .setDigest(plugin.digest().hex())
        .setManifest(TestPlugins.manifest(plugin))
        .build();
  }

  private void want(WantedPlugin... wanted) {
    cluster.wanted.set(
        WatchPluginSetResponse.newBuilder().addAllWanted(Arrays.asList(wanted)).build());
  }

  private void awaitRunning(String... expected) throws Exception {
    List<String> all = Stream.of(expected).sorted().toList();
    Await.until(
        "the node to run " + all,
        () -> plugins.running().equals(all),
        () -> "it runs %s; orders %s".formatted(plugins.running(), plugins.orders));
  }

  /** Waits until the cluster has the expected report of a plugin, and returns it. */
  private ReportedPlugin awaitReport(String name, Predicate<ReportedPlugin> expected)
      throws Exception {
    Await.until(
        "the report of " + name,
        () -> reported(name).filter(expected).isPresent(),
        () -> "the cluster knows " + reported(name));
    return reported(name).orElseThrow();
  }

  private Optional<ReportedPlugin> reported(String name) {
    return cluster.reports.isEmpty()
        ? Optional.empty()
        : cluster.reports.getLast().getPluginsList().stream()
            .filter(plugin -> plugin.getSymbolicName().equals(name))
            .findFirst();
  }

  @Test
  @DisplayName("Nothing is changed or reported before the cluster's wanted set arrives")
  void nothingBeforeTheCluster() throws Exception {
    plugins.begin(new SwapOrder.Remove("dev.polis.b"), SwapOptions.byCluster(true));
    awaitRunning("dev.polis.a 1.0.0");
    assertEquals(List.of(), cluster.reports);

    want();

    awaitRunning("dev.polis.a 1.0.0");
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_DISTRIBUTION);
  }

  @Test
  @DisplayName(
      "A pin overrides a role, a role overrides everywhere, and the report names the deciding scope")
  void whoDecides() throws Exception {
    for (String version : List.of("2.0.0", "3.0.0", "4.0.0")) {
      plugins.stage(plugin(A, version));
    }
    WantedPlugin all = everywhere(plugin(A, "2.0.0"));
    WantedPlugin some = role(BACKUP, plugin(A, "3.0.0"));
    WantedPlugin one = pin(plugin(A, "4.0.0"));

    want(all, some, one);
    awaitRunning("dev.polis.a 4.0.0", "dev.polis.b 1.0.0");
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_NODE && runs(plugin));

    want(all, some);
    awaitRunning("dev.polis.a 2.0.0", "dev.polis.b 1.0.0");
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_EVERYWHERE && runs(plugin));

    roles.set(new LocalRoles(new TreeSet<>(List.of(BACKUP)), true));
    awaitRunning("dev.polis.a 3.0.0", "dev.polis.b 1.0.0");
    ReportedPlugin last =
        awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_ROLE && runs(plugin));
    assertEquals("1.0.0", last.getDistributionVersion());
    assertEquals("3.0.0", last.getWantedVersion());
  }

  @Test
  @DisplayName("A wanted set that could not be written is written once the disk accepts it")
  void keptLater() throws Exception {
    Path inTheWay =
        Files.createDirectories(plugins.store.folder().resolve("wanted").resolve("in-the-way"));
    want(everywhere(plugin(A, "1.0.0")));
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_EVERYWHERE);
    Await.until("an attempt to keep it", () -> plugins.attemptsToKeep.get() > 0);

    Files.delete(inTheWay);
    Files.delete(inTheWay.getParent());

    Await.until("it to be kept", () -> plugins.kept().find(A).isPresent());
  }

  private static boolean runs(ReportedPlugin plugin) {
    return plugin.getDigest().equals(plugin.getWantedDigest()) && plugin.getWhyNot().isEmpty();
  }

  @Test
  @DisplayName(
      "A plugin that is no longer wanted returns to the distribution's version, or is removed if there is none")
  void unwanted() throws Exception {
    plugins.stage(plugin(A, "2.0.0"));
    plugins.stage(plugin(MORE, "1.0.0"));
    want(everywhere(plugin(A, "2.0.0")), everywhere(plugin(MORE, "1.0.0")));
    awaitRunning("dev.polis.a 2.0.0", "dev.polis.b 1.0.0", "org.example.more 1.0.0");

    want();

    awaitRunning("dev.polis.a 1.0.0", "dev.polis.b 1.0.0");
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_DISTRIBUTION);
    Await.until("its report without " + MORE, () -> reported(MORE).isEmpty());
  }

  @Test
  @DisplayName(
      "A reverted plugin is not tried again until something changes, and the report gives the reason")
  void broken() throws Exception {
    plugins.stage(plugin(A, "2.0.0"));
    plugins.stage(plugin("dev.polis.b", "2.0.0"));
    plugins.broken.put(A + " 2.0.0", "the ticket is too short");
    WantedPlugin bad = everywhere(plugin(A, "2.0.0"));
    want(bad);

    ReportedPlugin why = awaitReport(A, plugin -> plugin.getWhyNot().contains("too short"));
    assertEquals("reverted: the ticket is too short", why.getWhyNot());
    assertTrue(why.getFailed(), "the report does not mark the plugin as failed");
    assertEquals("2.0.0", why.getWantedVersion());
    assertEquals("1.0.0", why.getVersion());
    Await.until("its health", () -> conditions().contains("plugin-not-as-wanted"));
    assertEquals(1, attempts());

    // The failed plugin does not delay another one, and the new generation allows one more attempt.
    want(bad, everywhere(plugin("dev.polis.b", "2.0.0")));
    awaitRunning("dev.polis.a 1.0.0", "dev.polis.b 2.0.0");
    Await.until("one more attempt", () -> attempts() == 2);

    plugins.stage(plugin(A, "2.0.1"));
    want(everywhere(plugin(A, "2.0.1")), everywhere(plugin("dev.polis.b", "2.0.0")));
    awaitRunning("dev.polis.a 2.0.1", "dev.polis.b 2.0.0");
    Await.until("its health", () -> !conditions().contains("plugin-not-as-wanted"));
    assertEquals(2, attempts());
  }

  private long attempts() {
    String digest = plugin(A, "2.0.0").digest().hex();
    return plugins.orders.stream().filter(order -> order.contains(digest)).count();
  }

  private List<String> conditions() {
    return health.all().peek().orElseThrow().stream()
        .flatMap(status -> status.conditions().stream())
        .map(HealthCondition::code)
        .toList();
  }

  @Test
  @DisplayName("A failed plugin is tried again when the cluster wants it anew")
  void wantedAnew() throws Exception {
    plugins.stage(plugin(A, "2.0.0"));
    plugins.broken.put(A + " 2.0.0", "the ticket is too short");
    want(everywhere(plugin(A, "2.0.0")));
    awaitReport(A, ReportedPlugin::getFailed);

    want(everywhere(plugin(A, "2.0.0")).toBuilder().setWantedMillis(17).build());

    awaitRunning("dev.polis.a 2.0.0", "dev.polis.b 1.0.0");
  }

  @Test
  @DisplayName("A file is fetched from another node; while none has it, the report says so")
  void fetched() throws Exception {
    StoredPlugin plugin = plugin(MORE, "1.0.0");
    AtomicInteger calls = new AtomicInteger();
    PluginsGrpc.PluginsImplBase giver =
        new PluginsGrpc.PluginsImplBase() {
          @Override
          public void fetch(FetchRequest request, StreamObserver<FetchResponse> caller) {
            calls.incrementAndGet();
            byte[] file = TestPlugins.content(plugin);
            caller.onNext(FetchResponse.newBuilder().setSize(file.length).build());
            caller.onNext(
                FetchResponse.newBuilder()
                    .setData(
                        ByteString.copyFrom(
                            Arrays.copyOfRange(file, (int) request.getOffset(), file.length)))
                    .build());
            caller.onCompleted();
          }
        };
    want(everywhere(plugin));
    awaitReport(MORE, each -> each.getWhyNot().startsWith("no other node has its file"));

    try (TestCluster.OtherNode other = cluster.other(giver)) {
      cluster.wanted.set(
          WatchPluginSetResponse.newBuilder()
              .addWanted(everywhere(plugin))
              .addHolders(
                  PluginHolder.newBuilder()
                      .setNodeId(other.id())
                      .setAddress(other.address())
                      .addFiles(plugin.digest().hex()))
              .build());
      awaitRunning("dev.polis.a 1.0.0", "dev.polis.b 1.0.0", "org.example.more 1.0.0");
    }
    assertEquals(1, calls.get());
    Await.until(
        "this node to offer the file, too",
        () ->
            cluster.reports.getLast().getFilesList().stream()
                .anyMatch(file -> file.getDigest().equals(plugin.digest().hex())));
  }

  @Test
  @DisplayName(
      "A plugin that was swapped in by hand stays until the cluster wants a plugin of its name")
  void byHand() throws Exception {
    want();
    plugins.stage(plugin(A, "2.0.0"));
    plugins.begin(
        new SwapOrder.Replace(plugins.file(plugin(A, "2.0.0").digest()).orElseThrow(), new byte[0]),
        SwapOptions.by("ann"));
    plugins.refresh();
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_BY_HAND && runs(plugin));

    plugins.stage(plugin(A, "3.0.0"));
    want(everywhere(plugin(A, "3.0.0")));
    awaitRunning("dev.polis.a 3.0.0", "dev.polis.b 1.0.0");
  }

  @Test
  @DisplayName(
      "A plugin that was swapped in by hand and is wanted later belongs to the cluster, and is removed when no longer wanted")
  void claimed() throws Exception {
    want();
    plugins.stage(plugin(A, "2.0.0"));
    plugins.begin(
        new SwapOrder.Replace(plugins.file(plugin(A, "2.0.0").digest()).orElseThrow(), new byte[0]),
        SwapOptions.by("ann"));
    want(everywhere(plugin(A, "2.0.0")));
    awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_EVERYWHERE);

    want();

    awaitRunning("dev.polis.a 1.0.0", "dev.polis.b 1.0.0");
  }

  @Test
  @DisplayName(
      "A forced swap that overrules the cluster stays until the cluster wants another version")
  void overruling() throws Exception {
    for (String version : List.of("2.0.0", "3.0.0", "4.0.0")) {
      plugins.stage(plugin(A, version));
    }
    want(everywhere(plugin(A, "2.0.0")));
    awaitRunning("dev.polis.a 2.0.0", "dev.polis.b 1.0.0");
    plugins.begin(
        new SwapOrder.Replace(plugins.file(plugin(A, "3.0.0").digest()).orElseThrow(), new byte[0]),
        SwapOptions.by("ann").forced());
    plugins.refresh();

    ReportedPlugin left =
        awaitReport(A, plugin -> plugin.getDecision() == Decision.DECISION_BY_HAND);
    assertEquals("3.0.0", left.getVersion());
    assertTrue(left.getWhyNot().contains("overruled the cluster on this node"), left.getWhyNot());
    assertEquals(List.of("dev.polis.a 3.0.0", "dev.polis.b 1.0.0"), plugins.running());

    want(everywhere(plugin(A, "4.0.0")));
    awaitRunning("dev.polis.a 4.0.0", "dev.polis.b 1.0.0");
  }

  @Test
  @DisplayName("While another swap is under way the node waits, and continues by itself")
  void busy() throws Exception {
    plugins.setBusy(true);
    plugins.stage(plugin(A, "2.0.0"));
    want(everywhere(plugin(A, "2.0.0")));
    awaitReport(A, plugin -> plugin.getWhyNot().equals("it waits: another swap is under way"));

    plugins.setBusy(false);

    awaitRunning("dev.polis.a 2.0.0", "dev.polis.b 1.0.0");
  }

  @Test
  @DisplayName(
      "The wanted set is kept on the disk: this node's plugins by name, all plugins by digest")
  void kept() throws Exception {
    plugins.stage(plugin(A, "2.0.0"));
    WantedPlugin elsewhere =
        wanted(
            plugin(MORE, "1.0.0"),
            PluginScope.newBuilder().setNodeId(cluster.member().id().text()));
    want(everywhere(plugin(A, "2.0.0")), elsewhere);
    awaitRunning("dev.polis.a 2.0.0", "dev.polis.b 1.0.0");

    assertEquals(
        List.of(plugin(A, "2.0.0")),
        plugins.kept().here().stream().map(each -> each.plugin()).toList());
    assertTrue(plugins.kept().anywhere().contains(plugin(MORE, "1.0.0").digest()));
  }

  @Test
  @DisplayName("If two roles want different versions, the newer one is used")
  void twoRoles() {
    RoleName other = new RoleName("Other");
    List<String> malformed = new ArrayList<>();
    TreeSet<RoleName> both = new TreeSet<>(List.of(BACKUP, other));
    List<WantedPlugin> wanted =
        List.of(
            role(other, plugin(A, "10.0.0")),
            role(BACKUP, plugin(A, "9.0.0")),
            everywhere(plugin(A, "11.0.0")),
            everywhere(plugin(MORE, "1.0.0")).toBuilder().setDigest("short").build());

    var wants = Want.of(wanted, cluster.self.id(), both, malformed::add);

    assertEquals("10.0.0", wants.get(A).plugin().version());
    assertEquals(1, malformed.size());
    assertTrue(malformed.getFirst().contains(MORE), malformed::toString);
  }
}
