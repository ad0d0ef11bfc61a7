package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.curator.CuratorFixture;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.Tier;
import dev.polis.rpc.RpcClients;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks the answers to writers and watchers of the curator while consensus fails. */
@Tag("longer")
class CuratorChaosTest {

  private static final int KILLS = Tier.pick(2, 3, 20);
  private static final int ROUNDS = Tier.pick(1, 2, 8);

  @TempDir Path directory;

  @Test
  @DisplayName(
      "etcd is killed repeatedly: no acknowledged write is lost, and no watcher sees an older value")
  void consensusIsKilled() throws Exception {
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.1")) {
      RpcClients owner = node.asOwner();
      try (CuratorWorkload workload =
          CuratorWorkload.start(node.id(), () -> node.dial(owner, FaultNode.CURATOR))) {
        workload.awaitProgress(FaultNode.PATIENCE, "the start");
        long started = System.nanoTime();
        for (int kill = 1; kill <= KILLS; kill++) {
          kill(node);
          workload.awaitProgress(FaultNode.PATIENCE, "kill " + kill);
          node.requireAlive();
        }
        workload.verify(FaultNode.PATIENCE);
        System.out.printf(
            "%d kills of etcd in %d s, by the same JVM %d: %s%n",
            KILLS, seconds(started), node.pid(), workload);
      }
      node.awaitHealthy();
    }
  }

  @Test
  @DisplayName("the connection to etcd is cut in every way: no acknowledged write is lost")
  void theWayToConsensusIsCut() throws Exception {
    EtcdFixture etcd = EtcdFixture.durable(1);
    try (FaultyProxy way = FaultyProxy.to(etcd.member(0));
        CuratorFixture curator = CuratorFixture.leading(etcd, way.endpoint());
        CuratorWorkload workload = CuratorWorkload.start(curator.id().text(), curator::asOwner)) {
      workload.awaitProgress(FaultNode.PATIENCE, "the start");
      long started = System.nanoTime();
      Map<String, Fault> faults = faults(way);
      for (int round = 0; round < ROUNDS; round++) {
        for (Map.Entry<String, Fault> fault : faults.entrySet()) {
          fault.getValue().strike(workload);
          workload.awaitProgress(FaultNode.PATIENCE, fault.getKey());
        }
      }
      workload.verify(FaultNode.PATIENCE);
      System.out.printf(
          "%d times each of %s in %d s: %s%n", ROUNDS, faults.keySet(), seconds(started), workload);
    }
  }

  private static long seconds(long since) {
    return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - since);
  }

  /** Makes a fault, and ends it. */
  @FunctionalInterface
  private interface Fault {
    void strike(CuratorWorkload workload) throws Exception;
  }

  private static Map<String, Fault> faults(FaultyProxy way) {
    Map<String, Fault> faults = new LinkedHashMap<>();
    faults.put("a watch that ends politely", all -> way.complete(FaultyProxy.WATCH));
    faults.put("a watch that fails", all -> way.fail(FaultyProxy.WATCH, Status.UNAVAILABLE));
    faults.put("a watch that fails oddly", all -> way.fail(FaultyProxy.WATCH, Status.INTERNAL));
    faults.put("a lease stream that ends politely", all -> way.complete(FaultyProxy.KEEP_ALIVE));
    faults.put("calls that fail", all -> way.fail("KV/Txn", Status.UNAVAILABLE));
    faults.put("a reset", all -> way.reset());
    faults.put("a stall", all -> whileFailing(all, way, FaultyProxy::stall));
    faults.put("refused connections", all -> whileFailing(all, way, FaultyProxy::refuse));
    return faults;
  }

  /** Keeps up a fault until a call has failed. */
  private static void whileFailing(
      CuratorWorkload workload, FaultyProxy way, Consumer<FaultyProxy> harm) throws Exception {
    long before = workload.failures();
    harm.accept(way);
    try {
      Await.until(
          FaultNode.PATIENCE,
          "a call to fail while etcd is out of reach",
          () -> workload.failures() > before);
    } finally {
      way.heal();
    }
  }

  private static void kill(FaultNode node) throws Exception {
    List<ProcessHandle> running = node.etcd();
    assertEquals(1, running.size(), "one etcd runs for a node: " + running);
    ProcessHandle etcd = running.getFirst();
    assertTrue(etcd.destroyForcibly(), "etcd cannot be killed");
    Await.until(
        FaultNode.PATIENCE,
        "another etcd after " + etcd.pid() + " was killed",
        () -> node.etcd().stream().anyMatch(next -> next.pid() != etcd.pid()));
  }
}
