package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.curator.CuratorFixture;
import dev.polis.curator.CuratorProcess;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.TcpProxy;
import dev.polis.fixtures.Tier;
import dev.polis.fixtures.history.History;
import dev.polis.fixtures.history.LinearizabilityChecker;
import dev.polis.fixtures.history.Verdict;
import dev.polis.rpc.RpcClients;
import io.grpc.StatusException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs two curators, each in a JVM of its own and with a connection of its own to one etcd, which
 * contend for the leadership; writes, reads and watches over both must be linearizable under all
 * faults.
 */
@Tag("longer")
class LinearizabilityTest {

  private static final boolean LONG = Tier.isLong();
  private static final int TIMES = Integer.getInteger("polis.times", LONG ? 6 : 1);
  private static final int CURATORS = 2;

  /**
   * The largest share of writes with an unknown outcome after a fault. None of 2,792 had one,
   * beside builds; a busy machine may answer a few later than a writer waits.
   */
  private static final double MOST_UNKNOWN = 0.05;

  private static final int SWAPS = Tier.pick(2, 3, 5);

  /** The leases of the fixture's leaders. */
  private static final long LEASE_MILLIS = 2_000;

  /** Far longer than a lease on a slow machine. */
  private static final long SUSPENDED_MILLIS = 60_000;

  /** The number of writes and reads that prove the end of a fault; more happen in the meantime. */
  private static final int ENOUGH = 20;

  /** The number of writes and reads after a fault. */
  private static final int AFTERWARDS = 100;

  @TempDir static Path folder;

  private static EtcdFixture etcd;
  private static CuratorFixture cluster;
  private static final List<TcpProxy> ways = new ArrayList<>();
  private static final List<CuratorProcess> curators = new ArrayList<>();
  private static RpcClients owner;

  private final long seed = Long.getLong("polis.seed", System.nanoTime());
  private final Random random = new Random(seed);

  @BeforeAll
  static void start() throws Exception {
    etcd = EtcdFixture.durable(1);
    cluster = CuratorFixture.bootstrapped(etcd);
    for (int n = 0; n < CURATORS; n++) {
      TcpProxy way = TcpProxy.to("127.0.0.1", etcd.member(0).clientPort());
      ways.add(way);
      curators.add(
          CuratorProcess.start(folder, "curator" + n, way.endpoint(), cluster.clusterCa()));
    }
    owner = owner();
  }

  private static RpcClients owner() throws Exception {
    AtomicReference<RpcClients> found = new AtomicReference<>();
    Await.until(
        FaultNode.PATIENCE,
        "one of the curators to lead",
        () -> {
          for (CuratorProcess curator : curators) {
            try {
              found.set(cluster.owner(curator.address()));
              return true;
            } catch (StatusException follower) {
              // The next curator may lead.
              continue;
            }
          }
          return false;
        });
    return found.get();
  }

  @AfterAll
  static void stop() throws Exception {
    for (CuratorProcess curator : curators) {
      curator.resume();
      curator.close();
    }
    ways.forEach(TcpProxy::close);
    cluster.close();
  }

  /** Makes a fault, and ends it. */
  @FunctionalInterface
  private interface Fault {
    void strike(RecordedWorkload workload) throws Exception;
  }

  private Map<String, Fault> faults() {
    Map<String, Fault> faults = new LinkedHashMap<>();
    faults.put("etcd is killed", this::kill);
    faults.put("etcd is paused", this::pause);
    faults.put("all ways to etcd are reset", all -> ways.forEach(TcpProxy::reset));
    faults.put("all ways to etcd are silent", this::silence);
    faults.put("the leader alone is cut off from etcd", this::cutTheLeaderOff);
    faults.put("the leader alone has silent connections to etcd", this::silenceTheLeader);
    faults.put("the leader's JVM is stopped for longer than its lease", this::stopTheLeader);
    faults.put("the leader's JVM is stopped for about its lease", this::stopTheLeaderBriefly);
    faults.put("the leader's clock steps over the end of its lease", this::stepTheClock);
    faults.put(
        "the leader's machine is suspended for longer than its lease", this::suspendTheLeader);
    faults.put("the leader's curator is replaced", this::swapTheLeader);
    return faults;
  }

  @Test
  @Tag("full")
  @DisplayName("no stale read and no lost write while etcd is killed, paused and cut off")
  void etcdFails() throws Exception {
    Map<String, Fault> faults = faults();
    faults.keySet().removeIf(name -> name.startsWith("the leader"));
    strike(faults);
  }

  @Test
  @DisplayName(
      "no stale read and no lost write while a leader is cut off, stopped, replaced or has a clock"
          + " that steps, and another curator takes over")
  void leadersContend() throws Exception {
    Map<String, Fault> faults = faults();
    faults.keySet().removeIf(name -> !name.startsWith("the leader"));
    if (Tier.current() == Tier.QUICK) {
      List<String> names = new ArrayList<>(faults.keySet());
      faults.keySet().retainAll(Set.of(names.get(random.nextInt(names.size()))));
    }
    strike(faults);
  }

  private void strike(Map<String, Fault> faults) throws Exception {
    long started = System.nanoTime();
    long placed = 0;
    List<String> all = new ArrayList<>();
    for (int time = 0; time < TIMES; time++) {
      for (Map.Entry<String, Fault> fault : faults.entrySet()) {
        try (RecordedWorkload workload = workload()) {
          workload.awaitProgress(ENOUGH, "the start");
          workload.begin(fault.getKey());
          fault.getValue().strike(workload);
          workload.begin("its end");
          workload.awaitProgress(ENOUGH, fault.getKey());
          workload.begin("afterwards");
          workload.awaitProgress(AFTERWARDS, fault.getKey());
          placed += check(fault.getKey(), workload);
          all.add(workload.toString());
        }
      }
    }
    System.out.printf(
        "%d times each of %s in %d s: %d steps placed, seed %d%n",
        TIMES,
        faults.keySet(),
        TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - started),
        placed,
        seed);
    all.forEach(System.out::println);
  }

  private static RecordedWorkload workload() throws InterruptedException {
    List<InetSocketAddress> addresses = curators.stream().map(CuratorProcess::address).toList();
    return RecordedWorkload.start(
        List.of(cluster.storeNode(), cluster.storeNode()), owner, addresses);
  }

  private int check(String after, RecordedWorkload workload) throws Exception {
    int placed = 0;
    for (History history : workload.settle()) {
      Verdict verdict = LinearizabilityChecker.check(history);
      Verdict.Linearizable linearizable =
          assertInstanceOf(
              Verdict.Linearizable.class,
              verdict,
              () -> "%s (-Dpolis.seed=%d): %s%n%s".formatted(after, seed, verdict, workload));
      assertTrue(linearizable.placed() > ENOUGH, () -> "next to nothing was done: " + workload);
      placed += linearizable.placed();
    }
    requireFewUnknown(after, workload);
    return placed;
  }

  /**
   * Requires that a write of unknown outcome is one that no curator answered in time, and that
   * nearly all are answered once a fault is over: a history with many of them proves little.
   */
  private void requireFewUnknown(String after, RecordedWorkload workload) {
    for (RecordedWorkload.Phase phase : workload.phases()) {
      assertTrue(
          phase.unknown() <= phase.mostUnknown(),
          () ->
              "%s (-Dpolis.seed=%d): %d writes have an unknown outcome, %d could wait without an answer, in %s of %s"
                  .formatted(after, seed, phase.unknown(), phase.mostUnknown(), phase, workload));
    }
    RecordedWorkload.Phase last = workload.phases().getLast();
    assertTrue(
        last.unknownShare() <= MOST_UNKNOWN,
        () ->
            "%s (-Dpolis.seed=%d): %.0f %% of the writes long after it have an unknown outcome: %s"
                .formatted(after, seed, last.unknownShare() * 100, workload));
  }

  // ---- faults

  private void kill(RecordedWorkload workload) throws Exception {
    etcd.member(0).kill();
    etcd.member(0).restart();
  }

  private void pause(RecordedWorkload workload) throws Exception {
    etcd.member(0).pause();
    try {
      awaitFailures(workload);
    } finally {
      etcd.member(0).resume();
    }
  }

  private void silence(RecordedWorkload workload) throws Exception {
    ways.forEach(TcpProxy::stall);
    try {
      awaitFailures(workload);
    } finally {
      ways.forEach(TcpProxy::heal);
    }
  }

  /** Waits for failures of writes: reads of the curator that does not lead fail all the time. */
  private static void awaitFailures(RecordedWorkload workload) throws Exception {
    long before = workload.failedWrites() + ENOUGH;
    Await.until(
        FaultNode.PATIENCE,
        "writes to fail while etcd does not answer",
        () -> workload.failedWrites() > before);
  }

  private void cutTheLeaderOff(RecordedWorkload workload) throws Exception {
    int leader = workload.leader();
    ways.get(leader).refuse();
    try {
      awaitAnother(workload, leader);
    } finally {
      ways.get(leader).heal();
    }
  }

  private void silenceTheLeader(RecordedWorkload workload) throws Exception {
    int leader = workload.leader();
    ways.get(leader).stall();
    try {
      awaitAnother(workload, leader);
      workload.queueReads(leader);
    } finally {
      ways.get(leader).heal();
    }
  }

  private void stopTheLeader(RecordedWorkload workload) throws Exception {
    int leader = workload.leader();
    curators.get(leader).pause();
    try {
      awaitAnother(workload, leader);
      workload.queueReads(leader);
      awaitAnother(workload, leader);
    } finally {
      curators.get(leader).resume();
    }
  }

  /**
   * Stops the leader for about the time of its lease, which ends during the stop, just before, or
   * just after.
   */
  private void stopTheLeaderBriefly(RecordedWorkload workload) throws Exception {
    int leader = workload.leader();
    long until =
        System.nanoTime()
            + TimeUnit.MILLISECONDS.toNanos(
                random.nextLong(LEASE_MILLIS / 2, LEASE_MILLIS + LEASE_MILLIS / 2));
    curators.get(leader).pause();
    try {
      Await.until("the stop to end", () -> System.nanoTime() > until);
    } finally {
      curators.get(leader).resume();
    }
  }

  /** Moves the leader's clock, without a sign to either curator. */
  private void stepTheClock(RecordedWorkload workload) throws Exception {
    int leader = workload.leader();
    long millis = random.nextLong(LEASE_MILLIS / 2, 2 * LEASE_MILLIS);
    curators.get(leader).stepClock(Duration.ofMillis(millis));
  }

  /**
   * Suspends the leader's machine with a renewal under way. The clock of the timer that ends the
   * lease has not counted the suspension; only the other clocks show it.
   */
  private void suspendTheLeader(RecordedWorkload workload) throws Exception {
    int leader = workload.leader();
    TcpProxy way = ways.get(leader);
    way.stall();
    try {
      awaitRenewal();
      curators.get(leader).stepClock(Duration.ofMillis(-SUSPENDED_MILLIS));
      long before = workload.writes(leader);
      way.heal();
      Await.until(
          FaultNode.PATIENCE,
          "curator %d to write after a suspension".formatted(leader),
          () -> workload.writes(leader) > before);
      way.stall();
      awaitAnother(workload, leader);
    } finally {
      way.heal();
    }
  }

  /** Waits half of a lease, in which a renewal begins, since a lease is renewed three times. */
  private static void awaitRenewal() throws Exception {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LEASE_MILLIS / 2);
    Await.until("a renewal to be on its way", () -> System.nanoTime() > until);
  }

  private void swapTheLeader(RecordedWorkload workload) throws Exception {
    for (int swap = 1; swap <= SWAPS; swap++) {
      curators.get(workload.leader()).swap();
      workload.awaitProgress(ENOUGH, "swap " + swap);
    }
  }

  private static void awaitAnother(RecordedWorkload workload, int leader) throws Exception {
    int other = (leader + 1) % CURATORS;
    long enough = workload.writes(other) + ENOUGH;
    Await.until(
        FaultNode.PATIENCE,
        "curator %d to write in place of %d".formatted(other, leader),
        () -> workload.writes(other) >= enough);
  }
}
