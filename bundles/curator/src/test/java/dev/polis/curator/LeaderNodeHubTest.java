package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.etcd.EtcdClient;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LeaderNodeHubTest {

  private static final long SOON_SECONDS = 20;

  @Test
  void givenADamagedRecord_thenWatchersAreToldInsteadOfWaiting() throws Exception {
    try (CuratorFixture fixture = CuratorFixture.leading();
        EtcdClient records = fixture.records()) {
      BlockingClientCall<?, WatchEvent> watch =
          CuratorGrpc.newBlockingV2Stub(fixture.asNode())
              .watch(
                  WatchRequest.newBuilder()
                      .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                      .build());
      assertEquals(1, watch.read(SOON_SECONDS, TimeUnit.SECONDS).getNodesCount());
      String damaged = RecordKeys.node("metropolis-" + "0".repeat(32));

      records.kv().put(damaged, new byte[] {(byte) 0xff});

      StatusException told =
          assertThrows(
              StatusException.class,
              () -> {
                while (true) {
                  watch.read(SOON_SECONDS, TimeUnit.SECONDS);
                }
              });
      assertEquals(Status.Code.UNAVAILABLE, told.getStatus().getCode());
      assertTrue(told.getMessage().contains(damaged), told.getMessage());
    }
  }
}
