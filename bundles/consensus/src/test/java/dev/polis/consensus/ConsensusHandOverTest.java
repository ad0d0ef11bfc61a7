package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogPayload;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.SupervisionTree;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs two instances of consensus in one node: the second adopts the etcd of the first. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ConsensusHandOverTest {

  private static final int SWAPS = 5;

  private ConsensusHarness harness;
  private ProcessManager.OpenManager processes;
  private SupervisionTree supervisor;
  private HealthTable health;
  private final AtomicReference<StopReason> reason =
      new AtomicReference<>(StopReason.CODE_REPLACED);
  private HandOvers handOvers;

  @BeforeEach
  void start() throws Exception {
    harness = new ConsensusHarness();
    processes = ProcessManager.open(harness.root.ephemeral().processes().path(), harness.logs);
    supervisor = SupervisionTree.open(harness.logs);
    health = HealthTable.open(supervisor);
    handOvers = HandOverTable.open(harness.logs, reason::get, instance -> instance);
  }

  @AfterEach
  void stop() throws Exception {
    health.close();
    supervisor.close();
    processes.close();
    harness.close();
  }

  private HandOvers.Membership<ConsensusService> next() {
    return handOvers.join(
        "consensus",
        predecessor ->
            ConsensusService.start(
                ConsensusHarness.settings(),
                harness.parts(processes, supervisor, health),
                predecessor));
  }

  private HandOvers.Membership<ConsensusService> running() throws Exception {
    HandOvers.Membership<ConsensusService> first = next();
    first.instance().startNew(harness.identity);
    first.instance().awaitRunning(ConsensusHarness.PATIENCE);
    return first;
  }

  private static void retire(HandOvers.Membership<ConsensusService> membership) {
    membership.leave();
  }

  private long pid() {
    return processes.find("etcd").orElseThrow().pid();
  }

  private static Optional<ConsensusStatus> status(HandOvers.Membership<ConsensusService> of) {
    return of.instance().status().peek();
  }

  private List<String> maintained() {
    return supervisor.runnables().peek().orElseThrow().stream()
        .map(RunnableStatus::dn)
        .filter(dn -> dn.endsWith(".maintenance"))
        .toList();
  }

  /** Counts the line that etcd writes once at each start. */
  private long listening() {
    return harness.etcdLog().stream()
        .map(LogPayload.Leveled::message)
        .filter(each -> each.contains("configuring peer listeners"))
        .count();
  }

  /** Writes to etcd repeatedly, with the access that one instance handed out. */
  private static final class Writer implements AutoCloseable {
    private final EtcdClient client;
    private final AtomicLong written = new AtomicLong();
    private final AtomicReference<String> failure = new AtomicReference<>("");
    private final Thread thread;
    private volatile boolean stopped;

    Writer(ConsensusService consensus) {
      client = EtcdClient.connect(consensus.access("curator"));
      thread = Thread.ofVirtual().start(this::run);
    }

    private void run() {
      try {
        while (!stopped) {
          client.kv().put("/written", Long.toString(written.get()).getBytes());
          written.incrementAndGet();
        }
      } catch (InterruptedException | RuntimeException refused) {
        failure.set(refused.toString());
      }
    }

    void awaitMore() throws Exception {
      long before = written.get();
      Await.until(
          ConsensusHarness.PATIENCE,
          "more writes",
          () -> written.get() > before || !failure.get().isEmpty());
    }

    @Override
    public void close() {
      stopped = true;
      try {
        Await.end(thread);
      } catch (InterruptedException hurried) {
        Thread.currentThread().interrupt();
      }
      client.close();
    }
  }

  @Test
  @DisplayName("etcd, its status and its access stay while a second instance replaces the first")
  void followedWithoutAGap() throws Exception {
    HandOvers.Membership<ConsensusService> present = running();
    long pid = pid();
    Optional<ConsensusStatus> before = status(present);
    try (Writer writer = new Writer(present.instance())) {
      for (int swap = 0; swap < SWAPS; swap++) {
        try (Watcher<ConsensusStatus> watcher = present.instance().status().watch()) {
          watcher.get();
          HandOvers.Membership<ConsensusService> next = next();
          assertEquals(before, status(next));
          assertTrue(watcher.poll().isEmpty(), "the status of the first one flickers");
          assertEquals(1, maintained().size(), () -> "maintained by " + maintained());
          present.instance().access("curator");
          retire(present);
          present = next;
        }
        writer.awaitMore();
        assertEquals("", writer.failure.get());
      }
    }
    assertEquals(pid, pid());
    assertEquals(1, maintained().size());
    // A reader delivers the lines of etcd's start a moment after they were written.
    Await.until(
        ConsensusHarness.PATIENCE, "the log of etcd to be delivered", () -> listening() > 0);
    assertEquals(1, listening(), "lines of etcd's log are there twice");
    retire(present);
  }

  @Test
  @DisplayName("a second instance that ends before the first one gives etcd back")
  void givenBack() throws Exception {
    HandOvers.Membership<ConsensusService> first = running();
    Optional<ConsensusStatus> before = status(first);
    long pid = pid();
    HandOvers.Membership<ConsensusService> second = next();
    assertThrows(ConsensusException.class, () -> first.instance().startExisting(harness.identity));
    retire(second);
    Await.until(
        ConsensusHarness.PATIENCE, "the first one to maintain", () -> maintained().size() == 1);
    assertEquals(before, status(first));
    assertEquals(pid, pid());

    ConsensusHarness.kill(pid);
    Await.until(
        ConsensusHarness.PATIENCE,
        "the first one to start etcd again",
        () -> processes.find("etcd").filter(each -> each.pid() != pid).isPresent());
    first.instance().awaitRunning(ConsensusHarness.PATIENCE);
    retire(first);
  }

  @Test
  @DisplayName("an etcd that does not serve is not handed over, and the refusal says why")
  void notServing() throws Exception {
    HandOvers.Membership<ConsensusService> first = next();
    harness.network.set(new dev.polis.api.network.NetworkStatus.Waiting("no address"));
    first.instance().startNew(harness.identity);
    String refusal = assertThrows(HandOverException.class, this::next).getMessage();
    assertTrue(refusal.contains("cannot hand over etcd, because it does not serve"), refusal);
    harness.network.set(new dev.polis.api.network.NetworkStatus.Up(harness.address));
    first.instance().awaitRunning(ConsensusHarness.PATIENCE);
    retire(first);
  }

  @Test
  @DisplayName("of two instances the one that has etcd ends it, when both end for good")
  void poweredOff() throws Exception {
    HandOvers.Membership<ConsensusService> first = running();
    HandOvers.Membership<ConsensusService> second = next();
    reason.set(StopReason.POWER_OFF);
    first.leave();
    assertTrue(processes.find("etcd").orElseThrow().running(), "the second one has it");
    second.leave();
    assertTrue(processes.find("etcd").filter(each -> each.running()).isEmpty());
  }
}
