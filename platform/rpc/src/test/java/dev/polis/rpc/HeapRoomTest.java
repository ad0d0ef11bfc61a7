package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.UpdateNodeStatusResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class HeapRoomTest {
  /** The free heap that a test fills, far more than the fixture itself uses meanwhile. */
  private static final int ROOM = 64 << 20;

  /**
   * The mebibytes that are filled between two checks: enough for a quick test, and far from the
   * JVM's own limit.
   */
  private static final int CHUNKS = 16;

  private static final class Answering extends CuratorGrpc.CuratorImplBase {
    @Override
    public void getConsensusStatus(
        GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
      observer.onNext(GetConsensusStatusResponse.getDefaultInstance());
      observer.onCompleted();
    }

    @Override
    public void updateNodeStatus(
        UpdateNodeStatusRequest request, StreamObserver<UpdateNodeStatusResponse> observer) {
      observer.onNext(UpdateNodeStatusResponse.getDefaultInstance());
      observer.onCompleted();
    }
  }

  private static Status ask(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            CuratorGrpc.newBlockingStub(channel)
                .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance()));
  }

  private static Status report(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            CuratorGrpc.newBlockingStub(channel)
                .updateNodeStatus(UpdateNodeStatusRequest.getDefaultInstance()));
  }

  /** Makes a heap that counts as full after {@link #ROOM} more bytes. */
  private static HeapRoom withRoom() {
    System.gc();
    long used = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    return new HeapRoom((used + ROOM) / 7 * 8, LogTree.create().log("rpc"));
  }

  @Test
  @DisplayName(
      "on a full heap new calls are refused with the figures, nodes' reports and calls of this machine are served, and all calls are once there is room")
  void fullHeap() throws Exception {
    try (HeapRoom heap = withRoom();
        RpcFixture fixture = RpcFixture.on(heap)) {
      fixture.host.serve(RpcHost.CURATOR, new Answering());
      fixture.host.serve(RpcHost.DEBUG, new Answering());
      ManagedChannel owner = fixture.asOwner();
      ManagedChannel node = fixture.as(fixture.node());
      ManagedChannel here = fixture.keep(RpcClients.plaintext(fixture.host.address(RpcHost.DEBUG)));
      assertTrue(ask(owner).isOk());

      List<byte[]> filled = new ArrayList<>();
      // Memory of earlier tests may be freed meanwhile, which makes the room larger.
      Await.until(
          "the heap to be known as full",
          () -> {
            for (int i = 0; i < CHUNKS && !heap.isFull(); i++) {
              filled.add(new byte[1 << 20]);
            }
            System.gc();
            return heap.isFull();
          });
      // Exceeds the limit by more than the JVM may still free by itself.
      for (int i = 0; i < CHUNKS; i++) {
        filled.add(new byte[1 << 20]);
      }

      Status refused = ask(owner);
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getCode(), refused::toString);
      assertTrue(
          refused
              .getDescription()
              .matches("the node's heap is full: \\d+ of \\d+ MiB are in use.*"),
          refused::toString);
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, ask(node).getCode());
      assertEquals(Status.Code.OK, report(node).getCode(), "a node's report");
      assertEquals(ask(here).getCode(), Status.Code.UNAUTHENTICATED, "the rule decides");
      Reference.reachabilityFence(filled);
      filled.clear();

      Await.until("calls to be served again", () -> ask(owner).isOk());
    }
  }
}
