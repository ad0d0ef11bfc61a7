package dev.polis.curator;

import static dev.polis.curator.CuratorFixture.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.curator.api.PluginScopes;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PackageRequirement;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.store.Digest;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.GetPluginSetRequest;
import dev.polis.wire.cluster.GetPluginSetResponse;
import dev.polis.wire.cluster.PluginFile;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.PluginSetGrpc.PluginSetBlockingV2Stub;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.ReportPluginsRequest;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.TrustedKey;
import dev.polis.wire.cluster.UnwantPluginRequest;
import dev.polis.wire.cluster.WantPluginRequest;
import dev.polis.wire.cluster.WantPluginResponse;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WatchPluginSetRequest;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.stored.Node;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

/** Changes the wanted set of plugins over gRPC. */
@Timeout(120)
class PluginSetTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final String NAME = "org.example.backup";
  private static final String ROLE = "NightlyBackup";
  private static final String OTHER = "metropolis-" + "0".repeat(31) + "1";
  private static final Version PLATFORM = new Version("0.1.0");
  private static final KeyPair KEY = Ed25519.generate();
  private static final KeyPair UNTRUSTED = Ed25519.generate();

  private CuratorFixture fixture;
  private ManagedChannel owner;

  @BeforeEach
  void start() throws Exception {
    fixture = ETCD.leading();
    owner = fixture.asOwner();
    PluginTrustGrpc.newBlockingV2Stub(owner)
        .addTrustedKey(
            AddTrustedKeyRequest.newBuilder()
                .setKey(
                    TrustedKey.newBuilder()
                        .setName("release")
                        .setPublicKey(ByteString.copyFrom(Ed25519.raw(KEY.getPublic()))))
                .build());
  }

  @AfterEach
  void stop() throws Exception {
    fixture.close();
  }

  private static PluginSetBlockingV2Stub set(ManagedChannel channel) {
    return PluginSetGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  // ---- requests

  private static PluginManifest manifest(String name, String version, Version platform) {
    byte[] content = (name + version).getBytes(StandardCharsets.UTF_8);
    return new PluginManifest(
        name,
        new Version(version),
        Digest.of(content),
        content.length,
        List.of(new Provided.Role(ROLE)),
        List.of(),
        platform);
  }

  private static ByteString signed(String name, String version) {
    return SignedManifest.sign(manifest(name, version, PLATFORM), KEY.getPrivate()).encode();
  }

  private static PluginScope everywhere() {
    return PluginScope.newBuilder()
        .setEverywhere(PluginScope.Everywhere.getDefaultInstance())
        .build();
  }

  private static PluginScope role(String name) {
    return PluginScope.newBuilder().setRole(name).build();
  }

  private static PluginScope node(String id) {
    return PluginScope.newBuilder().setNodeId(id).build();
  }

  private static WantPluginRequest request(PluginScope scope, ByteString manifest) {
    return WantPluginRequest.newBuilder().setScope(scope).setManifest(manifest).build();
  }

  private WantPluginResponse want(PluginScope scope, String name, String version)
      throws StatusException {
    return set(owner).wantPlugin(request(scope, signed(name, version)));
  }

  private WantedPlugin unwant(PluginScope scope, String name) throws StatusException {
    return set(owner)
        .unwantPlugin(
            UnwantPluginRequest.newBuilder().setScope(scope).setSymbolicName(name).build())
        .getBefore();
  }

  private GetPluginSetResponse read(ManagedChannel channel) throws StatusException {
    return set(channel).getPluginSet(GetPluginSetRequest.getDefaultInstance());
  }

  private List<String> wanted() throws StatusException {
    return read(owner).getWantedList().stream().map(PluginSetTest::words).toList();
  }

  private static String words(WantedPlugin each) {
    return "%s %s %s"
        .formatted(each.getSymbolicName(), each.getVersion(), PluginScopes.words(each.getScope()));
  }

  private static PluginReport.Builder reportOf(String version) {
    return PluginReport.newBuilder()
        .setGeneration(1)
        .addPlugins(
            ReportedPlugin.newBuilder()
                .setSymbolicName(NAME)
                .setVersion(version)
                .setDigest(manifest(NAME, version, PLATFORM).digest().hex()))
        .addFiles(
            PluginFile.newBuilder()
                .setSymbolicName(NAME)
                .setVersion(version)
                .setDigest(manifest(NAME, version, PLATFORM).digest().hex()));
  }

  private void report(PluginReport.Builder report) throws StatusException {
    set(fixture.asNode())
        .reportPlugins(ReportPluginsRequest.newBuilder().setReport(report).build());
  }

  private BlockingClientCall<?, WatchPluginSetResponse> watch() {
    return PluginSetGrpc.newBlockingV2Stub(fixture.asNode())
        .watchPluginSet(WatchPluginSetRequest.getDefaultInstance());
  }

  private static WatchPluginSetResponse await(
      BlockingClientCall<?, WatchPluginSetResponse> watch, Predicate<WatchPluginSetResponse> wanted)
      throws Exception {
    while (true) {
      WatchPluginSetResponse now = watch.read(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
      if (wanted.test(now)) {
        return now;
      }
    }
  }

  // ---- wanting

  @Test
  @DisplayName("plugins that the owner wants are read by nodes, ordered by name and scope")
  void wantedPluginsAreRead() throws Exception {
    String self = fixture.id.text();
    want(node(self), NAME, "1.0.0");
    want(everywhere(), "org.example.zeta", "1.0.0");
    want(role(ROLE), NAME, "2.0.0");
    want(everywhere(), NAME, "3.0.0");

    assertEquals(
        List.of(
            NAME + " 3.0.0 everywhere",
            NAME + " 2.0.0 on nodes with the role " + ROLE,
            NAME + " 1.0.0 on node " + self,
            "org.example.zeta 1.0.0 everywhere"),
        read(fixture.asNode()).getWantedList().stream().map(PluginSetTest::words).toList());
    WantedPlugin first = read(owner).getWanted(0);
    assertEquals(manifest(NAME, "3.0.0", PLATFORM).digest().hex(), first.getDigest());
    assertEquals(signed(NAME, "3.0.0"), first.getManifest());
    assertEquals("user \"owner\"", first.getWantedBy());
    assertTrue(first.getWantedMillis() > 0, first.toString());
  }

  @Test
  @DisplayName(
      "another version replaces the wanted one of the same scope, and the answer names both")
  void replaces() throws Exception {
    assertFalse(want(everywhere(), NAME, "1.0.0").hasBefore());

    WantPluginResponse second = want(everywhere(), NAME, "2.0.0");

    assertEquals("1.0.0", second.getBefore().getVersion());
    assertEquals("2.0.0", second.getWanted().getVersion());
    assertEquals(List.of(NAME + " 2.0.0 everywhere"), wanted());
  }

  @Test
  @DisplayName(
      "a repeated request for the same plugin changes nothing, unless it asks to try again")
  void sameTwice() throws Exception {
    want(everywhere(), NAME, "1.0.0");
    GetPluginSetResponse before = read(owner);

    WantPluginResponse second = want(everywhere(), NAME, "1.0.0");

    assertEquals(second.getBefore(), second.getWanted());
    assertEquals(before, read(owner));

    WantPluginRequest anew =
        request(everywhere(), signed(NAME, "1.0.0")).toBuilder().setAgain(true).build();
    WantPluginResponse third = set(owner).wantPlugin(anew);
    assertTrue(
        third.getWanted().getWantedMillis() >= second.getWanted().getWantedMillis(),
        third.toString());
    assertEquals(third.getWanted(), read(owner).getWanted(0));
  }

  @Test
  @DisplayName(
      "a version older than the wanted one is refused with the reason, unless the request allows it")
  void olderIsRefused() throws Exception {
    want(everywhere(), NAME, "2.0.0");

    String refusal =
        refused(Status.Code.FAILED_PRECONDITION, () -> want(everywhere(), NAME, "1.0.0"));
    assertTrue(refusal.contains("1.0.0 is older than 2.0.0, which is wanted everywhere"), refusal);
    assertEquals(List.of(NAME + " 2.0.0 everywhere"), wanted());

    set(owner)
        .wantPlugin(
            request(everywhere(), signed(NAME, "1.0.0")).toBuilder().setOlder(true).build());
    assertEquals(List.of(NAME + " 1.0.0 everywhere"), wanted());
    assertTrue(read(owner).getWanted(0).getOlder());
  }

  @Test
  @DisplayName(
      "a version older than a node's running one is refused, if it would take effect there")
  void olderThanRunningIsRefused() throws Exception {
    report(reportOf("2.0.0"));

    String refusal =
        refused(Status.Code.FAILED_PRECONDITION, () -> want(everywhere(), NAME, "1.0.0"));
    assertTrue(
        refusal.contains("older than 2.0.0, which runs on node " + fixture.id.text()), refusal);

    want(node(fixture.id.text()), NAME, "2.0.0");
    want(everywhere(), NAME, "1.0.0");
    assertEquals(2, wanted().size(), "a pinned node does not prevent a version for the others");
  }

  @Test
  @DisplayName("of versions that are pushed at the same time, the newest is wanted in the end")
  void concurrentPushes() throws Exception {
    List<Integer> versions = new ArrayList<>(IntStream.rangeClosed(1, 20).boxed().toList());
    Collections.shuffle(versions);
    List<Callable<Optional<Status>>> pushes = new ArrayList<>();
    versions.forEach(version -> pushes.add(() -> push(version + ".0.0")));

    List<Status> refusals = new ArrayList<>();
    try (ExecutorService threads = new TestThreads()) {
      for (Future<Optional<Status>> each : threads.invokeAll(pushes)) {
        each.get().ifPresent(refusals::add);
      }
    }

    assertEquals(List.of(NAME + " 20.0.0 everywhere"), wanted());
    assertTrue(
        refusals.stream().allMatch(each -> each.getCode() == Status.Code.FAILED_PRECONDITION),
        refusals::toString);
  }

  private Optional<Status> push(String version) {
    try {
      want(everywhere(), NAME, version);
      return Optional.empty();
    } catch (StatusException e) {
      return Optional.of(e.getStatus());
    }
  }

  @Test
  @DisplayName("plugins that are pushed at the same time are all wanted afterwards")
  void concurrentPushesOfDifferentPlugins() throws Exception {
    List<Callable<Object>> pushes = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      String name = "org.example.plugin" + i;
      pushes.add(() -> want(everywhere(), name, "1.0.0"));
    }
    try (ExecutorService threads = new TestThreads()) {
      for (Future<Object> each : threads.invokeAll(pushes)) {
        each.get();
      }
    }
    assertEquals(20, wanted().size());
  }

  @Test
  @DisplayName("a scope that does not exist is refused with the most similar name")
  void unknownScopes() {
    String role = refused(Status.Code.NOT_FOUND, () -> want(role("NightlyBakcup"), NAME, "1.0.0"));
    assertTrue(role.contains("did you mean \"NightlyBackup\"?"), role);
    String node = refused(Status.Code.NOT_FOUND, () -> want(node(OTHER), NAME, "1.0.0"));
    assertTrue(node.contains("there is no node " + OTHER), node);
    refused(Status.Code.INVALID_ARGUMENT, () -> want(role("nightly backup"), NAME, "1.0.0"));
    refused(Status.Code.INVALID_ARGUMENT, () -> want(node("node-1"), NAME, "1.0.0"));
    refused(
        Status.Code.INVALID_ARGUMENT, () -> want(PluginScope.getDefaultInstance(), NAME, "1.0.0"));
  }

  @Test
  @DisplayName("a manifest that no node could accept is refused with the reason")
  void badManifests() {
    unacceptable(ByteString.EMPTY, "sign it");
    unacceptable(ByteString.copyFromUtf8("no manifest"), "cannot be read");
    unacceptable(
        ByteString.copyFrom(new byte[ManifestEnvelope.LARGEST + 1]), "one may have 262144");
    unacceptable(
        SignedManifest.sign(manifest(NAME, "1.0.0", PLATFORM), UNTRUSTED.getPrivate()).encode(),
        "which this cluster does not trust");
    unacceptable(
        SignedManifest.sign(manifest(NAME, "1.0.0", new Version("99.0.0")), KEY.getPrivate())
            .encode(),
        "needs the platform in version 99.0.0");
    SignedManifest other = SignedManifest.sign(manifest(NAME, "1.0.0", PLATFORM), KEY.getPrivate());
    unacceptable(
        new SignedManifest(
                manifest(NAME, "2.0.0", PLATFORM).encode(), other.keyId(), other.signature())
            .encode(),
        "was changed after it was signed");
  }

  private void unacceptable(ByteString manifest, String why) {
    String refusal =
        refused(
            Status.Code.FAILED_PRECONDITION,
            () -> set(owner).wantPlugin(request(everywhere(), manifest)));
    assertTrue(refusal.contains(why), refusal);
  }

  @Test
  @DisplayName("only a plugin of a node's distribution can be wanted without a signature")
  void distribution() throws Exception {
    PluginManifest metrics = manifest("dev.polis.metrics", "0.1.0", PLATFORM);
    ByteString file = DistributionManifest.of(metrics).encode();
    unacceptable(file, "the list of this distribution does not name it");

    report(
        PluginReport.newBuilder()
            .addPlugins(
                ReportedPlugin.newBuilder()
                    .setSymbolicName("dev.polis.metrics")
                    .setDistributionVersion("0.1.0")
                    .setDistributionDigest(metrics.digest().hex())));
    set(owner).wantPlugin(request(node(fixture.id.text()), file));

    assertEquals(List.of("dev.polis.metrics 0.1.0 on node " + fixture.id.text()), wanted());
  }

  @Test
  @DisplayName("manifests beyond the size of the record are refused")
  void tooMany() throws Exception {
    List<PackageRequirement> packages =
        IntStream.range(0, 1500)
            .mapToObj(
                i ->
                    new PackageRequirement(
                        "org.example." + "p".repeat(100) + i, new VersionRange("[1,2)"), false))
            .toList();
    int wanted = 0;
    String refusal = "";
    while (refusal.isEmpty() && wanted < 10) {
      PluginManifest one = manifest("org.example.large" + wanted, "1.0.0", PLATFORM);
      PluginManifest large =
          new PluginManifest(
              one.symbolicName(),
              one.version(),
              one.digest(),
              one.size(),
              one.provides(),
              packages,
              PLATFORM);
      ByteString file = SignedManifest.sign(large, KEY.getPrivate()).encode();
      try {
        set(owner).wantPlugin(request(everywhere(), file));
        wanted++;
      } catch (StatusException e) {
        assertEquals(Status.Code.OUT_OF_RANGE, e.getStatus().getCode(), e.toString());
        refusal = e.getStatus().getDescription();
      }
    }
    assertTrue(refusal.contains("the limit is 786432; unpin one first"), refusal);
    assertEquals(wanted, wanted().size());
  }

  @Test
  @DisplayName("after a plugin is no longer wanted for a scope, the wider scope decides")
  void unwanted() throws Exception {
    want(everywhere(), NAME, "2.0.0");
    want(role(ROLE), NAME, "1.0.0");

    assertEquals("1.0.0", unwant(role(ROLE), NAME).getVersion());
    assertEquals(List.of(NAME + " 2.0.0 everywhere"), wanted());

    String elsewhere = refused(Status.Code.NOT_FOUND, () -> unwant(role(ROLE), NAME));
    assertTrue(elsewhere.contains("but everywhere"), elsewhere);
    String unknown =
        refused(Status.Code.NOT_FOUND, () -> unwant(everywhere(), "org.example.bakcup"));
    assertTrue(unknown.contains("did you mean \"" + NAME + "\"?"), unknown);
    assertEquals(1, wanted().size());
  }

  // ---- permissions

  @Test
  @DisplayName("a node may not want plugins, an owner may not report, and a stranger may not read")
  void permissions() {
    refused(
        Status.Code.PERMISSION_DENIED,
        () -> set(fixture.asNode()).wantPlugin(request(everywhere(), signed(NAME, "1.0.0"))));
    refused(
        Status.Code.PERMISSION_DENIED,
        () ->
            set(owner)
                .reportPlugins(
                    ReportPluginsRequest.newBuilder().setReport(reportOf("1.0.0")).build()));
    refused(Status.Code.UNAUTHENTICATED, () -> read(fixture.asNobody()));
  }

  // ---- reports

  @Test
  @DisplayName("a node's report replaces its former one; the curator sets node and time")
  void reports() throws Exception {
    report(reportOf("1.0.0").setNodeId(OTHER).setReportedMillis(7));
    report(reportOf("2.0.0"));

    List<PluginReport> reports = read(owner).getReportsList();
    assertEquals(1, reports.size(), reports.toString());
    assertEquals(fixture.id.text(), reports.getFirst().getNodeId());
    assertEquals("2.0.0", reports.getFirst().getPlugins(0).getVersion());
    assertTrue(reports.getFirst().getReportedMillis() > 7, reports.toString());

    String large =
        refused(
            Status.Code.INVALID_ARGUMENT,
            () ->
                report(
                    PluginReport.newBuilder()
                        .addAllPlugins(
                            Collections.nCopies(
                                20,
                                ReportedPlugin.newBuilder()
                                    .setWhyNot("because ".repeat(500))
                                    .build()))));
    assertTrue(large.contains("takes at most 65536"), large);
    refused(
        Status.Code.INVALID_ARGUMENT,
        () -> set(fixture.asNode()).reportPlugins(ReportPluginsRequest.getDefaultInstance()));
  }

  @Test
  @DisplayName(
      "a watch begins with the set, and gets each change and the nodes that have the wanted files")
  void watchGetsChanges() throws Exception {
    fixture.reportStatus(CuratorGrpc.newBlockingV2Stub(fixture.asNode()), "127.0.0.9");
    BlockingClientCall<?, WatchPluginSetResponse> watch = watch();
    await(watch, now -> now.getWantedCount() == 0);

    want(everywhere(), NAME, "1.0.0");
    await(watch, now -> now.getWantedCount() == 1);
    report(reportOf("2.0.0"));
    report(reportOf("1.0.0"));
    WatchPluginSetResponse held = await(watch, now -> now.getHoldersCount() == 1);

    assertEquals(fixture.id.text(), held.getHolders(0).getNodeId());
    assertEquals("127.0.0.9", held.getHolders(0).getAddress());
    assertEquals(List.of(held.getWanted(0).getDigest()), held.getHolders(0).getFilesList());
    unwant(everywhere(), NAME);
    await(watch, now -> now.getWantedCount() == 0 && now.getHoldersCount() == 0);
    watch.cancel("test is over", null);
  }

  @Test
  @DisplayName(
      "a watch ends with UNAVAILABLE when another instance takes over, so that the client calls again")
  void watchEndsWithTheInstance() throws Exception {
    BlockingClientCall<?, WatchPluginSetResponse> watch = watch();
    await(watch, now -> true);
    want(everywhere(), NAME, "1.0.0");

    CuratorService.Endpoints endpoints = fixture.endpoints();
    var second = fixture.startNext(endpoints);
    CuratorFixture.retire(fixture.first);

    StatusException end = assertThrows(StatusException.class, () -> await(watch, now -> false));
    assertEquals(Status.Code.UNAVAILABLE, end.getStatus().getCode(), end.toString());
    BlockingClientCall<?, WatchPluginSetResponse> next = watch();
    await(next, now -> now.getWantedCount() == 1);
    next.cancel("test is over", null);
    CuratorFixture.retire(second);
  }

  @Test
  @DisplayName("the report of a node is deleted with the node")
  void reportsArePruned() throws Exception {
    try (EtcdClient records = fixture.records()) {
      fixture.store(OTHER, Node.newBuilder().setFsmState(NodeState.NODE_STATE_UP));
      fixture.put(
          RecordKeys.pluginReport(OTHER), reportOf("1.0.0").setNodeId(OTHER).build().toByteArray());
      assertEquals(1, read(owner).getReportsCount());

      try (var watch =
          records.watch(
              dev.polis.etcd.KeyRange.single(RecordKeys.pluginReport(OTHER)),
              dev.polis.etcd.WatchOptions.now().only(dev.polis.etcd.WatchEvent.Type.DELETE))) {
        records.kv().delete(dev.polis.etcd.KeyRange.single(RecordKeys.node(OTHER)));
        watch.next(CuratorFixture.SOON);
        Await.until(
            CuratorFixture.SOON,
            "the curator to see it too",
            () -> read(owner).getReportsCount() == 0);
      }
      assertTrue(records.kv().get(RecordKeys.pluginReport(OTHER)).isEmpty());
    }
  }
}
