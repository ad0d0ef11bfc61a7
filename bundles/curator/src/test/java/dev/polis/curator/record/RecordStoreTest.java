package dev.polis.curator.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.NodeLabels;
import dev.polis.base.values.Watcher;
import dev.polis.curator.CuratorFixture;
import dev.polis.etcd.Election;
import dev.polis.etcd.ElectionOptions;
import dev.polis.etcd.ElectionState;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdFencedException;
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.EtcdRefusedException;
import dev.polis.etcd.EtcdUnavailableException;
import dev.polis.etcd.KeyPrefix;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.TestThreads;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RecordStoreTest {

  private static final String COUNT = "count";
  private static final AtomicInteger NAMESPACES = new AtomicInteger();

  private static EtcdFixture fixture;
  private EtcdClient connection;
  private EtcdClient etcd;
  private RecordStore store;

  @BeforeAll
  static void startEtcd() throws Exception {
    fixture = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    fixture.close();
  }

  @BeforeEach
  void open() throws Exception {
    connection =
        EtcdClient.connect(EtcdAccess.plaintext(fixture.endpoints().toArray(String[]::new)));
    etcd = connection.sub("test" + NAMESPACES.incrementAndGet());
    store = new RecordStore(etcd.kv());
    put(id(0));
  }

  @AfterEach
  void close() {
    store.close();
    connection.close();
  }

  private static String id(int number) {
    return "metropolis-%032x".formatted(number);
  }

  private void put(String id) throws InterruptedException {
    etcd.kv().put(RecordKeys.node(id), count(Node.getDefaultInstance(), 0).toByteArray());
  }

  private static Node count(Node node, int count) {
    return node.toBuilder()
        .setLabels(NodeRecords.wire(NodeLabels.of(Map.of(COUNT, "" + count))))
        .build();
  }

  private static int count(Node node) {
    return Integer.parseInt(NodeRecords.labels(node).get(COUNT));
  }

  private static Node oneMore(Node node) {
    return count(node, count(node) + 1);
  }

  private static List<Future<Node>> all(ExecutorService callers, int number, Callable<Node> call) {
    return IntStream.range(0, number).mapToObj(i -> callers.submit(call)).toList();
  }

  @Test
  @DisplayName("A read that begins after a change was acknowledged sees it, or a later one")
  void readsAreLinearizable() throws Exception {
    AtomicInteger acknowledged = new AtomicInteger();
    CountDownLatch writers = new CountDownLatch(16);
    try (RecordStore rival = new RecordStore(etcd.kv());
        ExecutorService callers = new TestThreads()) {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        RecordStore writer = i % 4 == 0 ? rival : store;
        running.add(
            callers.submit(
                () -> {
                  try {
                    for (int n = 0; n < 25; n++) {
                      int written = count(increment(writer));
                      acknowledged.accumulateAndGet(written, Math::max);
                    }
                    return null;
                  } finally {
                    writers.countDown();
                  }
                }));
        running.add(
            callers.submit(
                () -> {
                  while (writers.getCount() > 0) {
                    int before = acknowledged.get();
                    int seen = count(store.requireNode(id(0)));
                    int listed = count(store.nodes().getFirst());
                    assertTrue(seen >= before, seen + " was read after " + before);
                    assertTrue(listed >= seen, listed + " was listed after " + seen);
                    // Reads that never wait would leave the writers without a thread.
                    Thread.yield();
                    if (Thread.interrupted()) {
                      throw new InterruptedException("the test is over");
                    }
                  }
                  return null;
                }));
      }
      for (Future<?> each : running) {
        each.get();
      }
    }
    assertEquals(400, count(store.requireNode(id(0))), "no update is lost or applied twice");
  }

  /** Two stores that update one record may conflict too often; such an update changes nothing. */
  private static Node increment(RecordStore writer) throws InterruptedException {
    while (true) {
      try {
        return writer.updateNode(id(0), RecordStoreTest::oneMore);
      } catch (RpcException contended) {
        assertEquals(Status.Code.ABORTED, contended.code(), contended.getMessage());
      }
    }
  }

  @Test
  void givenManyUpdatesWhileOneIsInProgress_thenTheyAreWrittenTogether() throws Exception {
    store.updateNode(id(0), RecordStoreTest::oneMore);
    long before = etcd.kv().range(KeyRange.all()).revision();
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch others = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    List<Future<Node>> changes = new ArrayList<>();
    try (ExecutorService callers =
        new TestThreads(
            task -> {
              Thread thread = Thread.ofVirtual().unstarted(task);
              threads.add(thread);
              return thread;
            })) {
      changes.add(
          callers.submit(
              () ->
                  store.updateNode(
                      id(0),
                      node -> {
                        began.countDown();
                        awaitQuietly(others);
                        return oneMore(node);
                      })));
      Await.until("the first change to begin", () -> began.getCount() == 0);
      changes.addAll(all(callers, 63, () -> store.updateNode(id(0), RecordStoreTest::oneMore)));
      Await.until(
          CuratorFixture.SOON,
          "63 callers to wait",
          () -> threads.stream().allMatch(each -> each.getState() == Thread.State.WAITING));
      others.countDown();
      List<Integer> counts = new ArrayList<>();
      for (Future<Node> each : changes) {
        counts.add(count(each.get()));
      }
      assertEquals(
          IntStream.rangeClosed(2, 65).boxed().toList(), counts.stream().sorted().toList());
    }
    assertEquals(before + 2, etcd.kv().range(KeyRange.all()).revision());
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted in a change", e);
    }
  }

  @Test
  void givenUpdatesThatAreRefused_thenOnlyTheirCallersFail() throws Exception {
    List<Future<Node>> good = new ArrayList<>();
    List<Future<Node>> refused = new ArrayList<>();
    List<Future<Node>> unknown = new ArrayList<>();
    try (ExecutorService callers = new TestThreads()) {
      for (int i = 0; i < 32; i++) {
        good.addAll(all(callers, 1, () -> store.updateNode(id(0), RecordStoreTest::oneMore)));
        refused.addAll(
            all(
                callers,
                1,
                () ->
                    store.updateNode(
                        id(0),
                        node -> {
                          throw Refusal.precondition("not at %d", count(node));
                        })));
        unknown.addAll(all(callers, 1, () -> store.updateNode(id(9), RecordStoreTest::oneMore)));
      }
      for (Future<Node> each : good) {
        each.get();
      }
      for (Future<Node> each : refused) {
        assertEquals(Status.Code.FAILED_PRECONDITION, code(each));
      }
      for (Future<Node> each : unknown) {
        assertEquals(Status.Code.NOT_FOUND, code(each));
      }
    }
    assertEquals(32, count(store.requireNode(id(0))));
  }

  private static Status.Code code(Future<Node> call) {
    Throwable cause = assertThrows(ExecutionException.class, call::get).getCause();
    return ((RpcException) cause).code();
  }

  @Test
  void givenAStaleCache_thenUpdatesAreComputedOnTheStoredRecord() throws Exception {
    store.updateNode(id(0), node -> count(node, 7));
    assertThrows(RpcException.class, () -> store.updateNode(id(1), RecordStoreTest::oneMore));
    etcd.kv().put(RecordKeys.node(id(0)), count(Node.getDefaultInstance(), 1).toByteArray());
    put(id(1));

    Node changed =
        store.updateNode(
            id(0),
            node -> {
              if (count(node) == 7) {
                throw Refusal.precondition("still 7");
              }
              return oneMore(node);
            });

    assertEquals(2, count(changed));
    assertEquals(2, count(store.requireNode(id(0))));
    assertEquals(1, count(store.updateNode(id(1), RecordStoreTest::oneMore)));
  }

  @Test
  void givenMoreRecordsThanOneTransactionTakes_thenAllAreChanged() throws Exception {
    int nodes = 100;
    for (int i = 1; i <= nodes; i++) {
      put(id(i));
    }
    List<Future<Node>> changes = new ArrayList<>();
    try (ExecutorService callers = new TestThreads()) {
      for (int i = 1; i <= nodes; i++) {
        String id = id(i);
        changes.addAll(all(callers, 1, () -> store.updateNode(id, RecordStoreTest::oneMore)));
        changes.addAll(all(callers, 1, () -> store.requireNode(id)));
      }
      for (Future<Node> each : changes) {
        each.get();
      }
    }
    assertEquals(
        nodes, store.nodes().stream().mapToInt(RecordStoreTest::count).sum(), "all were changed");
  }

  @Test
  void givenADamagedRecord_thenOnlyItsCallersFail() throws Exception {
    etcd.kv().put(RecordKeys.node(id(5)), new byte[] {(byte) 0xff});
    try (ExecutorService callers = new TestThreads()) {
      Future<Node> damaged =
          callers.submit(() -> store.updateNode(id(5), RecordStoreTest::oneMore));
      Future<Node> whole = callers.submit(() -> store.updateNode(id(0), RecordStoreTest::oneMore));
      assertEquals(1, count(whole.get()));
      Throwable failure = assertThrows(ExecutionException.class, damaged::get).getCause();
      assertTrue(failure.getMessage().contains(RecordKeys.node(id(5))), failure.getMessage());
    }
    assertEquals(List.of(id(0)), store.nodes().stream().map(Node::getId).toList());
    assertEquals(List.of(id(0), id(5)), store.read().nodeIds());
    RpcException named = assertThrows(RpcException.class, () -> store.requireNode(id(5)));
    assertEquals(Status.Code.DATA_LOSS, named.code(), named.getMessage());
    assertEquals(1, count(store.requireNode(id(0))));
  }

  @Test
  void givenTheFenceIsLost_thenReadsAndChangesFail() throws Exception {
    KeyPrefix locks = KeyPrefix.of("/leader/");
    try (Election election = etcd.election(ElectionOptions.of(locks, new byte[] {1}));
        Watcher<ElectionState> states = election.state().watch()) {
      ElectionState.Leader leader =
          (ElectionState.Leader) states.get(ElectionState.Leader.class::isInstance);
      try (RecordStore fenced = new RecordStore(etcd.kv().fenced(leader.fence()))) {
        assertEquals(1, count(fenced.updateNode(id(0), RecordStoreTest::oneMore)));
        assertEquals(1, fenced.nodes().size());

        etcd.kv().delete(locks.range());

        assertThrows(
            EtcdFencedException.class, () -> fenced.updateNode(id(0), RecordStoreTest::oneMore));
        assertThrows(EtcdFencedException.class, fenced::nodes);
        // An update without a change fails, too, because its record may be stale.
        assertThrows(EtcdFencedException.class, () -> fenced.updateNode(id(0), node -> node));
      }
    }
    assertEquals(1, count(store.requireNode(id(0))));
  }

  @Test
  void givenAnUpdateThatEtcdRefuses_thenTheOthersOfItsBatchAreWritten() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch others = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    // Larger than one request to etcd may be.
    Node tooLarge =
        Node.newBuilder()
            .setPublicKey(ByteString.copyFrom(new byte[(1 << 20) + (1 << 19)]))
            .build();
    try (ExecutorService callers =
        new TestThreads(
            task -> {
              Thread thread = Thread.ofVirtual().unstarted(task);
              threads.add(thread);
              return thread;
            })) {
      Future<Node> first =
          callers.submit(
              () ->
                  store.updateNode(
                      id(0),
                      node -> {
                        began.countDown();
                        awaitQuietly(others);
                        return oneMore(node);
                      }));
      Await.until("the first change to begin", () -> began.getCount() == 0);
      List<Future<Node>> good = new ArrayList<>();
      good.addAll(all(callers, 10, () -> store.updateNode(id(0), RecordStoreTest::oneMore)));
      put(id(1));
      Future<Node> refused = callers.submit(() -> store.updateNode(id(1), node -> tooLarge));
      good.addAll(all(callers, 10, () -> store.updateNode(id(0), RecordStoreTest::oneMore)));
      Await.until(
          CuratorFixture.SOON,
          "21 callers to wait",
          () -> threads.stream().allMatch(each -> each.getState() == Thread.State.WAITING));
      others.countDown();
      first.get();
      for (Future<Node> each : good) {
        each.get();
      }
      Throwable failure = assertThrows(ExecutionException.class, refused::get).getCause();
      assertTrue(failure instanceof EtcdRefusedException, failure.toString());
    }
    assertEquals(21, count(store.requireNode(id(0))));
    assertEquals(0, count(store.requireNode(id(1))));
  }

  @Test
  void givenAnUnknownOutcomeOfABatch_thenAllItsCallersGetIt() throws Exception {
    String namespace = "test" + NAMESPACES.get();
    try (FaultyProxy proxy = FaultyProxy.to(fixture.member(0));
        EtcdClient proxied =
            EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub(namespace));
        RecordStore hasty = new RecordStore(proxied.kv().within(Duration.ofMillis(1500)));
        ExecutorService callers = new TestThreads()) {
      hasty.updateNode(id(0), RecordStoreTest::oneMore);
      proxy.stall();
      for (Future<Node> each :
          all(callers, 8, () -> hasty.updateNode(id(0), RecordStoreTest::oneMore))) {
        Throwable failure = assertThrows(ExecutionException.class, each::get).getCause();
        // Updates of a second batch find an empty cache and fail as they read.
        assertTrue(
            failure instanceof EtcdOutcomeUnknownException
                || failure instanceof EtcdUnavailableException,
            failure.toString());
      }
      proxy.heal();
      // The writes with unknown outcome may still be applied between these.
      int now = count(store.requireNode(id(0)));
      int next = count(store.updateNode(id(0), RecordStoreTest::oneMore));
      assertTrue(next > now, next + " after " + now);
      int last = count(hasty.updateNode(id(0), RecordStoreTest::oneMore));
      assertTrue(last > next, last + " after " + next);
    }
  }

  @Test
  @DisplayName("CUR-05 of two concurrent first calls one creates the ticket, and both return it")
  void cur05_concurrentTickets() throws Exception {
    try (RecordStore rival = new RecordStore(etcd.kv())) {
      Overtaken random = new Overtaken(() -> ticketOf(rival, new SecureRandom()));

      ByteString ticket = ticketOf(store, random);

      assertEquals(random.rivalsTicket, ticket);
      assertEquals(ticket, ticketOf(rival, new SecureRandom()));
    }
  }

  private static ByteString ticketOf(RecordStore records, SecureRandom random)
      throws InterruptedException {
    return records.validTicket(random, Instant.now()).getOpaque();
  }

  /** Lets a rival finish its call after the other has found no ticket and before it writes one. */
  private static final class Overtaken extends SecureRandom {
    private static final long serialVersionUID = 1L;

    private final transient Callable<ByteString> rival;
    private transient ByteString rivalsTicket; // null until the rival has it

    Overtaken(Callable<ByteString> rival) {
      this.rival = rival;
    }

    @Override
    public void nextBytes(byte[] bytes) {
      super.nextBytes(bytes);
      try {
        rivalsTicket = rival.call();
      } catch (Exception e) {
        throw new IllegalStateException("the rival's call failed", e);
      }
    }
  }
}
