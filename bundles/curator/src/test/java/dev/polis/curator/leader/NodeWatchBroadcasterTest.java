package dev.polis.curator.leader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.curator.CuratorFixture;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValue;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.Severity;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class NodeWatchBroadcasterTest {

  private static final long SOON_SECONDS = 20;

  @Test
  void givenADamagedRecord_thenOnlyTheStreamsOfItsNodeEndAndNameIt() throws Exception {
    try (CuratorFixture fixture = CuratorFixture.leading();
        EtcdClient records = fixture.records()) {
      CuratorGrpc.CuratorBlockingV2Stub curator = CuratorGrpc.newBlockingV2Stub(fixture.asNode());
      String id = "metropolis-" + "0".repeat(32);
      fixture.store(id, Node.newBuilder());
      BlockingClientCall<?, WatchEvent> all = curator.watch(watchOfAll());
      assertEquals(2, read(all).getNodesCount());
      BlockingClientCall<?, WatchEvent> one = curator.watch(watchOf(id));
      assertEquals(id, read(one).getNodes(0).getId());

      fixture.put(RecordKeys.node(id), new byte[] {(byte) 0xff});

      assertNamed(RecordKeys.node(id), () -> read(one));
      assertNamed(RecordKeys.node(id), () -> read(curator.watch(watchOf(id))));
      fixture.reportStatus(curator, "127.0.9.1");
      assertEquals("127.0.9.1", read(all).getNodes(0).getStatus().getExternalAddress());
      assertEquals(
          1,
          read(curator.watch(watchOfAll())).getNodesCount(),
          "a new stream gets the readable nodes only");
      assertTrue(isLogged(fixture, RecordKeys.node(id)), "the log names it");
      var listed = CuratorFixture.nodes(fixture.management(), "");
      assertEquals(2, listed.size());
      assertEquals(NodeState.NODE_STATE_INVALID, listed.getFirst().getState());

      records.kv().put(RecordKeys.node(id), new byte[0]);
      assertEquals(id, read(all).getNodes(0).getId(), "the repaired node");
    }
  }

  private static boolean isLogged(CuratorFixture fixture, String text) {
    try (LogReader reader =
        fixture.logs.read(
            LogQuery.of("root").withChildren().backlogAll().minimumSeverity(Severity.ERROR))) {
      return reader.backlog().stream().anyMatch(entry -> entry.toString().contains(text));
    }
  }

  private static void assertNamed(String key, org.junit.jupiter.api.function.Executable call) {
    StatusException ended = assertThrows(StatusException.class, call);
    assertEquals(Status.Code.DATA_LOSS, ended.getStatus().getCode());
    assertTrue(ended.getMessage().contains(key), ended.getMessage());
  }

  @Test
  void givenManyWatchersAndChanges_thenEachSeesTheLastState() throws Exception {
    try (CuratorFixture fixture = CuratorFixture.leading();
        EtcdClient records = fixture.records()) {
      CuratorGrpc.CuratorBlockingV2Stub curator = CuratorGrpc.newBlockingV2Stub(fixture.asNode());
      KeyValue first = records.kv().range(RecordKeys.NODES.range()).keys().getFirst();
      Node stored = Node.parseFrom(first.value());
      List<BlockingClientCall<?, WatchEvent>> one = new ArrayList<>();
      List<BlockingClientCall<?, WatchEvent>> all = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        one.add(curator.watch(watchOf(fixture.id().text())));
        all.add(curator.watch(watchOfAll()));
      }
      for (BlockingClientCall<?, WatchEvent> watch : all) {
        assertEquals(
            WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED,
            read(watch).getProgress(),
            "the mark at the end of the backlog");
      }
      for (BlockingClientCall<?, WatchEvent> watch : one) {
        assertEquals(fixture.id().text(), read(watch).getNodes(0).getId());
      }
      String other = "metropolis-" + "0".repeat(32);
      for (int i = 1; i <= 50; i++) {
        records.kv().put(first.key(), at(stored, "127.0.8." + i));
        records.kv().put(RecordKeys.node(other), at(stored, "127.0.7." + i));
      }
      records.kv().delete(RecordKeys.node(other));

      for (BlockingClientCall<?, WatchEvent> watch : one) {
        awaitAddress(watch, fixture.id().text(), "127.0.8.50");
      }
      for (BlockingClientCall<?, WatchEvent> watch : all) {
        awaitTombstone(watch, other);
      }
    }
  }

  private static byte[] at(Node node, String address) {
    return node.toBuilder()
        .setStatus(NodeStatus.newBuilder().setExternalAddress(address))
        .build()
        .toByteArray();
  }

  private static WatchRequest watchOf(String id) {
    return WatchRequest.newBuilder()
        .setNodeInCluster(WatchRequest.NodeInCluster.newBuilder().setNodeId(id))
        .build();
  }

  private static WatchRequest watchOfAll() {
    return WatchRequest.newBuilder()
        .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
        .build();
  }

  private static WatchEvent read(BlockingClientCall<?, WatchEvent> watch) throws Exception {
    return watch.read(SOON_SECONDS, TimeUnit.SECONDS);
  }

  /** Reads states up to the awaited one, and requires that all are of one node and in order. */
  private static void awaitAddress(
      BlockingClientCall<?, WatchEvent> watch, String id, String address) throws Exception {
    int before = 0;
    while (true) {
      var node = read(watch).getNodes(0);
      assertEquals(id, node.getId());
      String seen = node.getStatus().getExternalAddress();
      int now = Integer.parseInt(seen.substring(seen.lastIndexOf('.') + 1));
      assertTrue(now > before, seen + " came after ." + before);
      before = now;
      if (seen.equals(address)) {
        return;
      }
    }
  }

  private static void awaitTombstone(BlockingClientCall<?, WatchEvent> watch, String id)
      throws Exception {
    while (read(watch).getNodeTombstonesList().stream()
        .noneMatch(tombstone -> tombstone.getNodeId().equals(id))) {
      // Skip an earlier state.
    }
  }
}
