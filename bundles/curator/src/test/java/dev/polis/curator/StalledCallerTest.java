package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.polis.fixtures.MachineSpeed;
import dev.polis.pki.Ed25519;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** Tests that callers which do not read their responses delay no others. */
@Timeout(120)
class StalledCallerTest {

  private static final int STALLED_CALLS = 8;
  private static final int CALLS = 20;

  // Together 4 MiB: far more than the 1 MiB that gRPC sends to a caller that does not read.
  private static final int LARGE_NODES = 64;
  private static final int LARGE_LABEL = 1 << 16;

  private static void storeLargeNodes(CuratorFixture fixture, String value) throws Exception {
    Map<String, Node.Builder> nodes = new LinkedHashMap<>();
    for (int i = 1; i <= LARGE_NODES; i++) {
      Node.Builder record = Node.newBuilder().setFsmState(NodeState.NODE_STATE_UP);
      record
          .getLabelsBuilder()
          .addPairsBuilder()
          .setKey("large")
          .setValue(value.repeat(LARGE_LABEL));
      nodes.put("metropolis-%032x".formatted(i), record);
    }
    fixture.storeAll(nodes);
  }

  private static <T> T next(BlockingClientCall<?, T> call) throws Exception {
    return call.read(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  /** Asserts that the slowest of several calls takes at most a second. */
  private static void assertWithinOneSecond(String what, int calls, Executable call)
      throws Throwable {
    MachineSpeed speed = MachineSpeed.measure();
    long slowest = 0;
    for (int i = 0; i < calls; i++) {
      long begin = System.nanoTime();
      call.execute();
      slowest = Math.max(slowest, System.nanoTime() - begin);
    }
    speed.assertWithin(
        what + " beside stalled callers", Duration.ofSeconds(1), Duration.ofNanos(slowest));
  }

  private static void assertNobodyIsDelayed(CuratorFixture fixture) throws Throwable {
    CuratorBlockingV2Stub node = CuratorGrpc.newBlockingV2Stub(fixture.asNode());
    CuratorBlockingV2Stub stranger =
        CuratorGrpc.newBlockingV2Stub(fixture.asKey(Ed25519.generate()));
    ManagementBlockingV2Stub owner = fixture.management();
    // Opens the connections first, so that handshakes are not measured.
    fixture.reportStatus(node, "127.0.1.100");
    register(stranger);
    AtomicInteger last = new AtomicInteger();
    assertWithinOneSecond(
        "each status was updated",
        CALLS,
        () -> fixture.reportStatus(node, "127.0.1." + last.incrementAndGet()));
    assertWithinOneSecond("each registration was answered", CALLS, () -> register(stranger));
    assertWithinOneSecond(
        "another list came",
        1,
        () -> assertEquals(LARGE_NODES + 1, CuratorFixture.nodes(owner, "").size()));
  }

  private static void register(CuratorBlockingV2Stub stranger) {
    CuratorFixture.refused(
        Status.Code.PERMISSION_DENIED,
        () ->
            stranger
                .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
                .registerNode(RegisterNodeRequest.getDefaultInstance()));
  }

  @Test
  @DisplayName(
      "CUR-22 and D-07 callers of GetNodes that do not read delay no update or registration")
  void cur22_stalledLists() throws Throwable {
    try (CuratorFixture fixture = CuratorFixture.leading()) {
      storeLargeNodes(fixture, "x");
      ManagementBlockingV2Stub stalled = ManagementGrpc.newBlockingV2Stub(fixture.asOwner());
      List<BlockingClientCall<?, dev.polis.wire.api.Node>> calls = new ArrayList<>();
      for (int i = 0; i < STALLED_CALLS; i++) {
        BlockingClientCall<?, dev.polis.wire.api.Node> call =
            stalled.getNodes(GetNodesRequest.getDefaultInstance());
        assertNotNull(next(call), "the first node, which shows that the answer has begun");
        calls.add(call);
      }

      assertNobodyIsDelayed(fixture);

      for (BlockingClientCall<?, dev.polis.wire.api.Node> call : calls) {
        for (int i = 0; i < LARGE_NODES; i++) {
          assertNotNull(next(call), "node " + i + " of a stalled call");
        }
        assertEquals(null, next(call), "the end of a stalled call");
      }
    }
  }

  @Test
  @DisplayName(
      "CUR-22 and D-07 a watch that is not read delays no other call, and then sends the newest states")
  void cur22_stalledWatch() throws Throwable {
    try (CuratorFixture fixture = CuratorFixture.leading()) {
      storeLargeNodes(fixture, "x");
      BlockingClientCall<?, WatchEvent> stalled =
          CuratorGrpc.newBlockingV2Stub(fixture.asNode())
              .watch(
                  WatchRequest.newBuilder()
                      .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                      .build());
      assertNotNull(next(stalled), "the begin of the backlog");
      storeLargeNodes(fixture, "y");
      storeLargeNodes(fixture, "z");

      assertNobodyIsDelayed(fixture);

      String last = "metropolis-%032x".formatted(LARGE_NODES);
      WatchEvent event;
      do {
        event = next(stalled);
        assertNotNull(event, "the watch ended");
      } while (event.getNodesList().stream()
          .noneMatch(
              node ->
                  node.getId().equals(last)
                      && node.getLabels().getPairs(0).getValue().startsWith("z")));
      stalled.cancel("test is over", null);
    }
  }
}
