package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.NodeLabels;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchEvent.Progress;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.stub.BlockingClientCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Watches node records over gRPC while they are changed in etcd. */
@Timeout(120)
class NodeWatchTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final String OTHER = "metropolis-" + "0".repeat(31) + "1";

  /** The time for which a stream must stay silent; a wrong message would come in milliseconds. */
  private static final long SILENCE_MILLIS = 300;

  private CuratorFixture fixture;
  private EtcdClient records;
  private CuratorBlockingV2Stub node;

  @BeforeEach
  void start() throws Exception {
    fixture = ETCD.leading();
    records = fixture.records();
    node = CuratorGrpc.newBlockingV2Stub(fixture.asNode());
  }

  @AfterEach
  void stop() throws Exception {
    records.close();
    fixture.close();
  }

  private BlockingClientCall<?, WatchEvent> watchOf(String id) {
    return node.watch(
        WatchRequest.newBuilder()
            .setNodeInCluster(WatchRequest.NodeInCluster.newBuilder().setNodeId(id))
            .build());
  }

  private BlockingClientCall<?, WatchEvent> watchOfAll() {
    return node.watch(
        WatchRequest.newBuilder()
            .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
            .build());
  }

  private static WatchEvent next(BlockingClientCall<?, WatchEvent> watch) throws Exception {
    return watch.read(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static void assertSilent(BlockingClientCall<?, WatchEvent> watch) {
    assertThrows(TimeoutException.class, () -> watch.read(SILENCE_MILLIS, TimeUnit.MILLISECONDS));
  }

  private static Node.Builder record(NodeState state) {
    return Node.newBuilder()
        .setFsmState(state)
        .setClusterUnlockKey(ByteString.copyFromUtf8("secret"))
        .setJoinKey(ByteString.copyFromUtf8("join key"));
  }

  private static Node.Builder recordAt(String address, int curatorPort) {
    return record(NodeState.NODE_STATE_UP)
        .setStatus(
            NodeStatus.newBuilder()
                .setExternalAddress(address)
                .setRunningCurator(NodeStatus.RunningCurator.newBuilder().setPort(curatorPort)));
  }

  @Test
  @DisplayName(
      "CUR-03 the watch of one node sends nothing before it exists, then each state and its end")
  void cur03_watchOne() throws Exception {
    BlockingClientCall<?, WatchEvent> watch = watchOf(OTHER);
    fixture.reportStatus(node, "127.0.0.9");
    assertSilent(watch);

    CuratorFixture.store(records, OTHER, record(NodeState.NODE_STATE_NEW));
    WatchEvent created = next(watch);
    assertEquals(
        WatchEvent.newBuilder()
            .addNodes(
                dev.polis.wire.curator.Node.newBuilder()
                    .setId(OTHER)
                    .setState(NodeState.NODE_STATE_NEW)
                    .setRoles(created.getNodes(0).getRoles())
                    .setLabels(created.getNodes(0).getLabels()))
            .build(),
        created);

    fixture.reportStatus(node, "127.0.0.8");
    CuratorFixture.store(records, OTHER, recordAt("127.0.0.3", 7835));
    WatchEvent updated = next(watch);
    assertEquals(1, updated.getNodesCount(), updated.toString());
    assertEquals(OTHER, updated.getNodes(0).getId());
    assertEquals("127.0.0.3", updated.getNodes(0).getStatus().getExternalAddress());
    assertEquals(7835, updated.getNodes(0).getStatus().getRunningCurator().getPort());

    records.kv().delete(dev.polis.etcd.KeyRange.single(RecordKeys.node(OTHER)));
    assertEquals(tombstone(OTHER), next(watch));
    assertSilent(watch);
    watch.cancel("test is over", null);
  }

  @Test
  @DisplayName("CUR-03 the watch of a node that exists begins with its state")
  void cur03_watchOfOneThatExists() throws Exception {
    BlockingClientCall<?, WatchEvent> earlier = watchOf(fixture.id.text());
    fixture.reportStatus(node, "127.0.0.7");
    awaitEvent(
        earlier, event -> event.getNodes(0).getStatus().getExternalAddress().equals("127.0.0.7"));

    BlockingClientCall<?, WatchEvent> watch = watchOf(fixture.id.text());
    WatchEvent first = next(watch);
    assertEquals(fixture.id.text(), first.getNodes(0).getId());
    assertEquals("127.0.0.7", first.getNodes(0).getStatus().getExternalAddress());
    assertEquals(
        Progress.PROGRESS_UNSPECIFIED, first.getProgress(), "only a watch of all is marked");
    watch.cancel("test is over", null);
  }

  private static WatchEvent tombstone(String id) {
    return WatchEvent.newBuilder()
        .addNodeTombstones(WatchEvent.NodeTombstone.newBuilder().setNodeId(id))
        .build();
  }

  @Test
  @DisplayName("CUR-04 the watch of all nodes marks the end of its backlog, then sends each change")
  void cur04_watchAll() throws Exception {
    BlockingClientCall<?, WatchEvent> watch = watchOfAll();
    assertEquals(Set.of(fixture.id.text()), ids(backlog(watch)));

    fixture.reportStatus(node, "127.0.0.3");
    WatchEvent updated = next(watch);
    assertEquals("127.0.0.3", updated.getNodes(0).getStatus().getExternalAddress());
    assertEquals(Progress.PROGRESS_UNSPECIFIED, updated.getProgress(), "the mark comes once");

    CuratorFixture.store(records, OTHER, record(NodeState.NODE_STATE_NEW));
    assertEquals(Set.of(OTHER), ids(List.of(next(watch))));

    BlockingClientCall<?, WatchEvent> second = watchOfAll();
    assertEquals(Set.of(fixture.id.text(), OTHER), ids(backlog(second)));

    records.kv().delete(dev.polis.etcd.KeyRange.single(RecordKeys.node(OTHER)));
    assertEquals(tombstone(OTHER), next(watch));
    assertEquals(tombstone(OTHER), next(second));

    BlockingClientCall<?, WatchEvent> third = watchOfAll();
    assertEquals(Set.of(fixture.id.text()), ids(backlog(third)));
    List.of(watch, second, third).forEach(each -> each.cancel("test is over", null));
  }

  @Test
  @DisplayName("CUR-04 a backlog larger than one message is split, and only its end is marked")
  void cur04_largeBacklog() throws Exception {
    // Together 5 MiB, more than a gRPC client accepts in one message.
    int nodes = 80;
    Node.Builder large =
        record(NodeState.NODE_STATE_UP)
            .setLabels(NodeRecords.wire(NodeLabels.of(Map.of("first", "a"))));
    large.getLabelsBuilder().addPairsBuilder().setKey("large").setValue("x".repeat(1 << 16));
    String last = "metropolis-%032x".formatted(nodes);
    BlockingClientCall<?, WatchEvent> earlier = watchOf(last);
    for (int i = 1; i <= nodes; i++) {
      CuratorFixture.store(records, "metropolis-%032x".formatted(i), large);
    }
    awaitEvent(earlier, event -> event.getNodesCount() == 1);

    BlockingClientCall<?, WatchEvent> watch = watchOfAll();
    List<WatchEvent> backlog = backlog(watch);
    assertTrue(backlog.size() > 1, backlog.size() + " message");
    assertEquals(nodes + 1, ids(backlog).size());
    watch.cancel("test is over", null);
  }

  @Test
  @DisplayName("a new watch begins with all changes that were acknowledged before its call")
  void watchBeginsWithWhatWasAcknowledged() throws Exception {
    for (int i = 1; i <= 100; i++) {
      String address = "127.0.2." + i;
      fixture.reportStatus(node, address);

      BlockingClientCall<?, WatchEvent> one = watchOf(fixture.id.text());
      BlockingClientCall<?, WatchEvent> all = watchOfAll();

      assertEquals(address, next(one).getNodes(0).getStatus().getExternalAddress());
      assertEquals(address, next(all).getNodes(0).getStatus().getExternalAddress());
      one.cancel("next round", null);
      all.cancel("next round", null);
    }
  }

  @Test
  @DisplayName("a state that a watch has shown is also in later reads")
  void readsAreNotBehindWatches() throws Exception {
    ManagementGrpc.ManagementBlockingV2Stub owner = fixture.management();
    BlockingClientCall<?, WatchEvent> watch = watchOf(fixture.id.text());
    next(watch);
    for (int i = 1; i <= 100; i++) {
      String address = "127.0.3." + i;
      Thread writer = Thread.ofVirtual().start(() -> report(address));
      String seen = next(watch).getNodes(0).getStatus().getExternalAddress();
      var listed = CuratorFixture.nodes(owner, "").getFirst();

      assertEquals(address, seen);
      assertEquals(address, listed.getStatus().getExternalAddress());
      Await.end(writer);
    }
    watch.cancel("test is over", null);
  }

  private void report(String address) {
    try {
      fixture.reportStatus(node, address);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Waits until the leader has received a change, so that later watches begin with it. */
  private static void awaitEvent(
      BlockingClientCall<?, WatchEvent> watch, Predicate<WatchEvent> expected) throws Exception {
    while (!expected.test(next(watch))) {
      // Skip an earlier state.
    }
    watch.cancel("the change was seen", null);
  }

  /** Reads up to the message that marks the end of the backlog. */
  private static List<WatchEvent> backlog(BlockingClientCall<?, WatchEvent> watch)
      throws Exception {
    List<WatchEvent> messages = new ArrayList<>();
    do {
      messages.add(next(watch));
    } while (messages.getLast().getProgress() != Progress.PROGRESS_LAST_BACKLOGGED);
    return messages;
  }

  private static Set<String> ids(List<WatchEvent> messages) {
    Set<String> ids = new TreeSet<>();
    messages.forEach(message -> message.getNodesList().forEach(node -> ids.add(node.getId())));
    return ids;
  }
}
