package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOvers;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.Node.Health;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.BindableService;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Runs two instances of the curator in one node: the second continues from the state of the first.
 */
class CuratorHandOverTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final int WRITERS = 8;
  private static final int WATCHERS = 4;
  private static final int SWAPS = 10;

  private CuratorFixture fixture;
  private ManagementBlockingV2Stub owner;
  private long token;

  /** Holds a curator and its endpoints. */
  private record Instance(
      HandOvers.Membership<CuratorService> membership, CuratorService.Endpoints served) {

    void retire() {
      CuratorFixture.retire(membership);
    }

    CuratorStatus status() {
      return membership.instance().status().peek().orElseThrow();
    }
  }

  @BeforeEach
  void start() throws Exception {
    fixture = ETCD.leading();
    owner = fixture.management();
    token = token(fixture.curator);
  }

  @AfterEach
  void stop() throws Exception {
    fixture.close();
  }

  private static long token(CuratorService curator) {
    return ((CuratorStatus.Leading) curator.status().peek().orElseThrow()).fencingToken();
  }

  private Instance first() {
    return new Instance(fixture.first, fixture.served);
  }

  private Instance next() {
    CuratorService.Endpoints served = fixture.endpoints();
    return new Instance(fixture.startNext(served), served);
  }

  private void write(String key, long value) throws StatusException {
    owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeLabels(
            UpdateNodeLabelsRequest.newBuilder()
                .setId(fixture.id.text())
                .addUpsert(
                    UpdateNodeLabelsRequest.Pair.newBuilder()
                        .setKey(key)
                        .setValue(Long.toString(value)))
                .build());
  }

  /** Writes ascending numbers under a key of its own, until stopped. */
  private final class Writer {
    private final String key;
    private final List<String> failures;
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong longestNanos = new AtomicLong();
    private final Thread thread;
    private volatile boolean stopped;

    Writer(int number, List<String> failures) {
      this.key = "writer-" + number;
      this.failures = failures;
      this.thread = Thread.ofVirtual().start(this::run);
    }

    private void run() {
      while (!stopped) {
        long began = System.nanoTime();
        try {
          write(key, written.get() + 1);
          written.incrementAndGet();
        } catch (Exception refused) {
          failures.add(key + ": " + refused);
          return;
        }
        longestNanos.accumulateAndGet(System.nanoTime() - began, Math::max);
      }
    }

    long end() throws InterruptedException {
      stopped = true;
      Await.end(thread);
      return written.get();
    }
  }

  /** Watches the node as clients do: calls again when the stream ends with UNAVAILABLE. */
  private final class NodeWatcher {
    private final Map<String, Long> seen = new ConcurrentHashMap<>();
    private final List<String> failures;
    private final Thread thread;
    private volatile boolean stopped;
    private volatile BlockingClientCall<?, WatchEvent> call;

    NodeWatcher(List<String> failures) {
      this.failures = failures;
      this.thread = Thread.ofVirtual().start(this::run);
    }

    private void run() {
      while (!stopped) {
        try {
          call =
              CuratorGrpc.newBlockingV2Stub(fixture.asNode())
                  .watch(
                      WatchRequest.newBuilder()
                          .setNodeInCluster(
                              WatchRequest.NodeInCluster.newBuilder().setNodeId(fixture.id.text()))
                          .build());
          for (WatchEvent event = call.read(); event != null; event = call.read()) {
            event.getNodesList().forEach(node -> see(node.getLabels()));
          }
        } catch (StatusException ended) {
          if (!stopped && ended.getStatus().getCode() != Status.Code.UNAVAILABLE) {
            failures.add("watcher: " + ended);
            return;
          }
        } catch (InterruptedException ended) {
          return;
        }
      }
    }

    private void see(dev.polis.wire.common.NodeLabels labels) {
      labels.getPairsList().stream()
          .filter(pair -> pair.getKey().startsWith("writer-"))
          .forEach(
              pair -> {
                long now = Long.parseLong(pair.getValue());
                Long before = seen.put(pair.getKey(), now);
                if (before != null && before > now) {
                  failures.add(pair.getKey() + " went back from " + before + " to " + now);
                }
              });
    }

    void end() throws InterruptedException {
      stopped = true;
      call.cancel("the test is over", null);
      Await.end(thread);
    }
  }

  @Test
  @DisplayName(
      "a curator is replaced under 8 writers and 4 watchers: no call fails, and the token stays")
  void replacedUnderLoad() throws Exception {
    List<String> failures = new CopyOnWriteArrayList<>();
    List<Writer> writers = new ArrayList<>();
    List<NodeWatcher> watchers = new ArrayList<>();
    for (int i = 0; i < WATCHERS; i++) {
      watchers.add(new NodeWatcher(failures));
    }
    for (int i = 0; i < WRITERS; i++) {
      writers.add(new Writer(i, failures));
    }
    Instance present = first();
    for (int swap = 0; swap < SWAPS; swap++) {
      Instance next = next();
      assertEquals(new CuratorStatus.Leading(token), next.status(), "swap " + swap);
      assertEquals(
          new CuratorStatus.Leading(token),
          present.status(),
          "the former instance keeps its status");
      present.retire();
      present = next;
      awaitProgress(writers);
    }
    Map<String, Long> expected = new ConcurrentHashMap<>();
    for (Writer writer : writers) {
      expected.put(writer.key, writer.end());
    }
    assertEquals(List.of(), List.copyOf(failures));
    for (NodeWatcher watcher : watchers) {
      Await.until(
          CuratorFixture.SOON,
          "a watcher to see the last of each writer, " + expected,
          () -> watcher.seen.equals(expected));
      watcher.end();
    }
    assertEquals(List.of(), List.copyOf(failures));
    System.out.printf(
        "curator replaced %d times under load: %d writes, the longest call took %d ms%n",
        SWAPS,
        expected.values().stream().mapToLong(Long::longValue).sum(),
        writers.stream().mapToLong(each -> each.longestNanos.get()).max().orElseThrow()
            / 1_000_000);
    present.retire();
  }

  private static void awaitProgress(List<Writer> writers) throws Exception {
    for (Writer writer : writers) {
      long before = writer.written.get();
      Await.until(
          CuratorFixture.SOON,
          writer.key + " to write again",
          () -> writer.written.get() > before || !writer.failures.isEmpty());
    }
  }

  @Test
  @DisplayName(
      "a successor that fails gives the leadership back: the first one leads with the same token")
  void givenBackByOneThatFails() throws Exception {
    CuratorService.Endpoints served = fixture.endpoints();
    String failure =
        assertThrows(
                IllegalStateException.class,
                () ->
                    fixture.handOvers.join(
                        "curator",
                        predecessor -> {
                          CuratorService next = fixture.start(served, predecessor);
                          served.withdraw();
                          giveAway(next);
                          next.close(dev.polis.base.boot.StopReason.CODE_REPLACED);
                          throw new IllegalStateException("injected");
                        }))
            .getMessage();
    assertEquals("injected", failure);
    write("after", 1);
    assertEquals(new CuratorStatus.Leading(token), first().status());
  }

  private static void giveAway(CuratorService curator) {
    try {
      curator.give();
    } catch (InterruptedException unexpected) {
      throw new IllegalStateException(unexpected);
    }
  }

  @Test
  @DisplayName("a successor that is stopped before the first one gives the leadership back")
  void givenBackByOneThatIsStopped() throws Exception {
    Instance next = next();
    write("while the second leads".replace(' ', '-'), 1);
    next.retire();
    write("after", 1);
    assertEquals(new CuratorStatus.Leading(token), first().status());
    Instance third = next();
    assertEquals(new CuratorStatus.Leading(token), third.status());
    first().retire();
    write("third", 1);
    third.retire();
  }

  /** Serves endpoints that do not end their calls until they are released or interrupted. */
  private static final class HangingEndpoints implements CuratorService.Endpoints {
    private final CuratorService.Endpoints real;
    private final CountDownLatch released = new CountDownLatch(1);

    HangingEndpoints(CuratorService.Endpoints real) {
      this.real = real;
    }

    @Override
    public void register(List<BindableService> services) {
      real.register(services);
    }

    @Override
    public void close() {
      withdraw();
    }

    @Override
    public void withdraw() {
      boolean interrupted = false;
      while (released.getCount() > 0) {
        try {
          released.await();
        } catch (InterruptedException refused) {
          // Plays a defect: the call does not end when it is interrupted.
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      real.withdraw();
    }
  }

  @Test
  @DisplayName(
      "a predecessor that hangs stays in charge, and the new instance is refused with the reason")
  void hangingPredecessor() throws Exception {
    HangingEndpoints hanging = new HangingEndpoints(fixture.endpoints());
    Instance second = new Instance(fixture.startNext(hanging), hanging);
    first().retire();
    String refusal = assertThrows(HandOverException.class, this::next).getMessage();
    assertTrue(refusal.contains("did not give its state to the next within 4000 ms"), refusal);
    assertTrue(refusal.contains("it stays in charge"), refusal);
    assertEquals(new CuratorStatus.Leading(token), second.status());
    write("while-it-hangs", 1);
    hanging.released.countDown();
    Await.until(
        CuratorFixture.SOON,
        "the curator that hung to serve again",
        () -> {
          try {
            write("after-it-hung", 1);
            return true;
          } catch (StatusException notYet) {
            return false;
          }
        });
    Instance third = next();
    assertEquals(new CuratorStatus.Leading(token), third.status());
    second.retire();
    third.retire();
  }

  @Test
  @DisplayName("a curator hands its knowledge of heartbeats to the next one")
  void heartbeatsGoOver() throws Exception {
    CuratorFixture.heartbeat(CuratorGrpc.newBlockingV2Stub(fixture.asNode()));
    assertEquals(Health.HEALTH_HEALTHY, health());
    Instance second = next();
    first().retire();
    assertEquals(Health.HEALTH_HEALTHY, health());
    second.retire();
  }

  private Health health() throws Exception {
    return CuratorFixture.nodes(owner, "").getFirst().getHealth();
  }

  @Test
  @DisplayName("a follower of a cluster does not notice a hand-over")
  void followersSeeNothing() throws Exception {
    try (CuratorFixture follower = CuratorFixture.idle()) {
      follower.follow(fixture);
      try (Watcher<CuratorStatus> watcher = follower.curator.status().watch()) {
        watcher.get();
        Instance second = next();
        first().retire();
        write("second", 1);
        assertThrows(TimeoutException.class, () -> watcher.get(Duration.ofSeconds(3)));
        second.retire();
      }
    }
  }

  @Test
  @DisplayName("a replaced curator writes nothing and keeps its published status")
  void replacedWritesNothing() throws Exception {
    Instance second = next();
    assertTrue(fixture.curator.give().find("place-in-election", Object.class).isEmpty());
    assertEquals(new CuratorStatus.Leading(token), first().status());
    assertFalse(second.membership().instance().facts().isEmpty());
    first().retire();
    write("second", 1);
    assertEquals(new CuratorStatus.Leading(token), second.status());
    second.retire();
  }
}
