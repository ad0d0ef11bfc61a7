package dev.polis.curator.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.rpc.RequestId;
import dev.polis.rpc.RpcException;
import dev.polis.wire.api.ConfigureClusterResponse;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.api.UpdateNodeLabelsResponse;
import dev.polis.wire.cluster.RememberedChanges;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Context;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ChangeMemoryTest {

  private static final String NODE = "metropolis-%032x".formatted(1);

  private final SecureRandom random = new SecureRandom();

  private ChangeId change(String caller, RequestId id) {
    ChangeId change = new ChangeId(caller, id, ManagementGrpc.getUpdateNodeLabelsMethod());
    change.requested(UpdateNodeLabelsRequest.getDefaultInstance());
    return change;
  }

  private ChangeId fresh() {
    return change("owner", RequestId.first(random));
  }

  private static RememberedChanges with(RememberedChanges record, ChangeId id, long millis) {
    return ChangeMemory.with(record, id, UpdateNodeLabelsResponse.getDefaultInstance(), millis);
  }

  @Test
  @DisplayName("the last change of the newest 64 clients is remembered, for 10 minutes")
  void bounds() {
    RememberedChanges record = RememberedChanges.getDefaultInstance();
    ChangeId first = fresh();
    ChangeId second = fresh();
    record = with(with(record, first, 1), second, 2);
    for (int n = 1; n < ChangeMemory.CLIENTS; n++) {
      record = with(record, fresh(), 3);
    }
    assertEquals(ChangeMemory.CLIENTS, record.getChangesCount());
    assertEquals(Optional.empty(), ChangeMemory.answer(record, first));
    assertEquals(Optional.of(ByteString.EMPTY), ChangeMemory.answer(record, second));

    ChangeId late = fresh();
    record = with(record, late, 3 + ChangeMemory.AGE.toMillis());
    assertEquals(ChangeMemory.CLIENTS, record.getChangesCount());
    record = with(record, fresh(), 4 + ChangeMemory.AGE.toMillis());
    assertEquals(2, record.getChangesCount());
    assertTrue(ChangeMemory.answer(record, late).isPresent());
  }

  @Test
  @DisplayName("a client takes the place of its former change, however many it makes")
  void oneOfAClient() {
    RequestId id = RequestId.first(random);
    ChangeId other = fresh();
    RememberedChanges record = with(RememberedChanges.getDefaultInstance(), other, 1);
    for (int n = 0; n < 1000; n++) {
      record = with(record, change("owner", id), 1);
      id = id.next();
    }
    assertEquals(2, record.getChangesCount());
    assertTrue(ChangeMemory.answer(record, other).isPresent());
  }

  @Test
  @Tag("attack")
  @DisplayName("large answers of one caller displace its older changes, and fill no record")
  void largeAnswers() {
    ConfigureClusterResponse large =
        ConfigureClusterResponse.newBuilder()
            .setResultingConfig(
                ClusterConfiguration.newBuilder()
                    .setClusterDomain("x".repeat(ChangeMemory.BYTES / 3)))
            .build();
    RememberedChanges record = RememberedChanges.getDefaultInstance();
    for (int n = 0; n < 10; n++) {
      record = ChangeMemory.with(record, fresh(), large, 1);
    }
    assertEquals(2, record.getChangesCount());
    assertTrue(record.getSerializedSize() <= ChangeMemory.BYTES);
  }

  private static <T> T as(ChangeId change, Callable<T> call) throws Exception {
    return Context.current().withValue(ChangeId.KEY, change).call(call);
  }

  @Test
  @DisplayName("records of callers that are gone are deleted with the changes of others")
  void cleaning() throws Exception {
    AtomicLong now = new AtomicLong(1);
    AtomicInteger made = new AtomicInteger();
    try (EtcdFixture etcd = EtcdFixture.start(1);
        EtcdClient client =
            EtcdClient.connect(EtcdAccess.plaintext(etcd.endpoints().toArray(String[]::new)));
        RecordStore store =
            new RecordStore(
                client.kv(),
                new RecordMemory(damage -> {}),
                () -> false,
                () -> Instant.ofEpochMilli(now.get()))) {
      client.kv().put(RecordKeys.node(NODE), Node.getDefaultInstance().toByteArray());
      RequestId id = RequestId.first(random);
      for (String caller : List.of("alice", "bob", "carol")) {
        as(change(caller, id), () -> made(store, made));
      }
      assertEquals(3, callers(client));
      as(change("carol", id), () -> made(store, made));
      assertEquals(3, made.get());

      now.addAndGet(ChangeMemory.AGE.plus(Duration.ofMillis(1)).toMillis());
      as(change("carol", id.next()), () -> made(store, made));
      assertEquals(2, callers(client));
      as(change("dave", id), () -> made(store, made));
      assertEquals(2, callers(client));
      assertEquals(Optional.empty(), store.remembered(change("alice", id)));
      assertTrue(store.remembered(change("dave", id)).isPresent());

      ChangeId other = new ChangeId("dave", id, ManagementGrpc.getConfigureClusterMethod());
      other.requested(UpdateNodeLabelsRequest.getDefaultInstance());
      assertThrows(RpcException.class, () -> as(other, () -> made(store, made)));
      assertEquals(5, made.get());

      for (int n = 0; n < ChangeMemory.CALLERS + 4; n++) {
        as(change("caller " + n, id), () -> made(store, made));
      }
      assertTrue(callers(client) <= ChangeMemory.CALLERS + 1, callers(client) + " records");
    }
  }

  private static UpdateNodeLabelsResponse made(RecordStore store, AtomicInteger made)
      throws InterruptedException {
    return store.updateNode(
        NODE,
        node -> {
          made.incrementAndGet();
          return node;
        },
        _ -> UpdateNodeLabelsResponse.getDefaultInstance());
  }

  private static int callers(EtcdClient client) throws InterruptedException {
    return client.kv().range(KeyRange.prefix(RecordKeys.CHANGES.text())).keys().size();
  }
}
