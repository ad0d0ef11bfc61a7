package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.base.values.Watcher;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordMemory;
import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.Election;
import dev.polis.etcd.ElectionOptions;
import dev.polis.etcd.ElectionState;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdFencedException;
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.EtcdUnavailableException;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.wire.curator.stored.Node;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reads from a leader that has its records in memory, on a real etcd behind a faulty proxy. */
@Timeout(120)
class LeaderReadTest {

  private static final String ID = "metropolis-" + "0".repeat(32);
  private static final Duration CALL = Duration.ofMillis(1500);
  private static final AtomicInteger NAMESPACES = new AtomicInteger();

  private static EtcdFixture etcd;
  private String namespace;
  private FaultyProxy proxy;
  private EtcdClient direct;
  private EtcdClient proxied;
  private volatile BooleanSupplier leads = () -> true;
  private RecordStore store;

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @BeforeEach
  void open() throws Exception {
    namespace = "reads" + NAMESPACES.incrementAndGet();
    proxy = FaultyProxy.to(etcd.member(0));
    direct = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()).sub(namespace));
    proxied = EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub(namespace));
    store =
        new RecordStore(
            proxied.kv().within(CALL), new RecordMemory(damage -> {}), () -> leads.getAsBoolean());
    put("first");
  }

  @AfterEach
  void close() {
    store.close();
    proxied.close();
    direct.close();
    proxy.close();
  }

  private static Node node(String text) {
    return Node.newBuilder().setId(ID).setPublicKey(ByteString.copyFromUtf8(text)).build();
  }

  private void put(String text) throws InterruptedException {
    direct.kv().put(RecordKeys.node(ID), node(text).toByteArray());
  }

  private String read() throws InterruptedException {
    return store.requireNode(ID).getPublicKey().toStringUtf8();
  }

  @Test
  void aLeaderThatIsCertainReadsWithoutEtcd() throws Exception {
    assertEquals("first", read());
    proxy.stall();
    assertEquals("first", read());
  }

  @Test
  void aLeaderThatIsNotCertainNeverAnswersFromMemory() throws Exception {
    assertEquals("first", read());
    leads = () -> false;
    put("second");
    assertEquals("second", read());
    proxy.stall();
    assertThrows(EtcdUnavailableException.class, this::read);
  }

  @Test
  void certaintyIsAskedForAfterMemoryWasRead() throws Exception {
    assertEquals("first", read());
    // The JVM stops between the two calls, for longer than its lease.
    leads =
        () -> {
          try {
            put("of the next leader");
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          return false;
        };
    assertEquals("of the next leader", read());
  }

  @Test
  void anAcknowledgedWriteIsReadFromMemory() throws Exception {
    for (int i = 0; i < 100; i++) {
      String text = "write " + i;
      store.updateNode(ID, node -> node(text));
      assertEquals(text, read());
    }
    proxy.stall();
    assertEquals("write 99", read());
  }

  @Test
  void afterAWriteWithAnUnknownOutcomeEtcdIsAskedAgain() throws Exception {
    assertEquals("first", read());
    proxy.stall();
    assertThrows(
        EtcdOutcomeUnknownException.class, () -> store.updateNode(ID, node -> node("perhaps")));
    assertThrows(EtcdUnavailableException.class, this::read, "not from memory");
    proxy.heal();
    put("by another");
    assertEquals("by another", read());
    proxy.stall();
    assertEquals("by another", read(), "from memory again");
  }

  @Test
  void aWriteOnAStaleMemoryIsComputedAnew() throws Exception {
    assertEquals("first", read());
    put("by another");
    Node written =
        store.updateNode(
            ID, node -> node(node.getPublicKey().toStringUtf8() + ", then by the leader"));
    assertEquals("by another, then by the leader", written.getPublicKey().toStringUtf8());
    assertEquals("by another, then by the leader", read());
  }

  @Test
  void aWriteTakesOneExchangeWithEtcd() throws Exception {
    assertEquals("first", read());
    long before = callsOfEtcd();
    store.updateNode(ID, node -> node("second"));
    assertEquals(before + 1, callsOfEtcd());
  }

  /** Returns the number of reads, writes and transactions that etcd has received. */
  private static long callsOfEtcd() throws Exception {
    try (HttpClient http = HttpClient.newHttpClient()) {
      String metrics =
          http.send(
                  HttpRequest.newBuilder(
                          URI.create("http://" + etcd.member(0).endpoint() + "/metrics"))
                      .build(),
                  HttpResponse.BodyHandlers.ofString())
              .body();
      return metrics
          .lines()
          .filter(line -> line.startsWith("grpc_server_started_total"))
          .filter(line -> line.contains("grpc_service=\"etcdserverpb.KV\""))
          .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' '))))
          .sum();
    }
  }

  @Test
  void aLeaderThatIsCutOffStopsReadingFromMemoryBeforeItsLockExpires() throws Exception {
    try (Election election =
            proxied.election(
                ElectionOptions.of(RecordKeys.LEADER, new byte[] {1})
                    .withTtl(MachineSpeed.measure().stretched(Duration.ofSeconds(2))));
        Watcher<ElectionState> states = election.state().watch()) {
      ElectionState.Leader leader =
          (ElectionState.Leader) states.get(ElectionState.Leader.class::isInstance);
      try (RecordStore fenced =
          new RecordStore(
              proxied.kv().within(CALL).fenced(leader.fence()),
              new RecordMemory(damage -> {}),
              leader.lease()::holds)) {
        fenced.requireNode(ID);
        assertTrue(leader.lease().holds());
        proxy.stall();
        fenced.requireNode(ID);
        Await.until(
            CuratorFixture.SOON,
            "the lock to expire",
            () -> {
              boolean locked = !direct.kv().range(RecordKeys.LEADER.range()).keys().isEmpty();
              // Checked afterwards, so that a pause of any length cannot make it fail.
              assertTrue(
                  locked || !leader.lease().holds(), "the lock expired before the certainty");
              return !locked;
            });
        assertThrows(EtcdUnavailableException.class, () -> fenced.requireNode(ID));
        proxy.heal();
        assertInstanceOf(
            EtcdFencedException.class,
            assertThrows(RuntimeException.class, () -> fenced.requireNode(ID)));
      }
    }
  }

  @Test
  void aLockThatIsDeletedByHandEndsTheCertaintyOnceItIsSeen() throws Exception {
    try (Election election =
            proxied.election(ElectionOptions.of(RecordKeys.LEADER, new byte[] {1}));
        Watcher<ElectionState> states = election.state().watch()) {
      ElectionState.Leader leader =
          (ElectionState.Leader) states.get(ElectionState.Leader.class::isInstance);
      direct.kv().delete(leader.lockKey());
      ElectionState next = states.get(CuratorFixture.SOON);
      assertFalse(leader.lease().holds(), () -> "the lock is gone, but the lease holds at " + next);
      ElectionState.Leader again = requireLeaderAgain(states, next, leader.lockKey());
      assertNotEquals(leader.lockKey(), again.lockKey(), "it leads by the lock that was deleted");
      assertTrue(again.createRevision() > leader.createRevision(), again::toString);
      assertFalse(leader.lease().holds(), "the lease of the lock that was deleted holds again");
    }
  }

  /**
   * Requires that a candidate whose lock was deleted says so, gives its lease back, stands again,
   * and leads; a watcher may miss any of these states but the last.
   */
  private static ElectionState.Leader requireLeaderAgain(
      Watcher<ElectionState> states, ElectionState first, String lock) throws Exception {
    List<ElectionState> way =
        List.of(
            new ElectionState.Neither("the own lock " + lock + " was removed"),
            new ElectionState.Neither("lost the lease: Lost[reason=closed by its holder]"),
            new ElectionState.Neither("taking part"));
    ElectionState state = first;
    int passed = 0;
    while (!(state instanceof ElectionState.Leader)) {
      ElectionState seen = state;
      int at = way.indexOf(seen);
      assertTrue(at >= passed, () -> seen + " is none of the next states of " + way);
      passed = at + 1;
      state = states.get(CuratorFixture.SOON);
    }
    return (ElectionState.Leader) state;
  }
}
