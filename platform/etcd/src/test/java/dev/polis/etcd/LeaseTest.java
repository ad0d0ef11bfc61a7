package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.MachineSpeed;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LeaseTest {

  private static final Duration TTL = MachineSpeed.measure().stretched(Duration.ofSeconds(2));
  private static final Duration SOON = TTL.multipliedBy(10);

  private static EtcdFixture etcd;
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration LONGER = LONG.plusSeconds(1);

  // The time by which each clock is ahead of the machine's.
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicLong boot = new AtomicLong();
  private final AtomicLong wall = new AtomicLong();
  private FaultyProxy proxy;
  private EtcdClient direct;
  private EtcdClient client;

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @BeforeEach
  void connect() throws Exception {
    proxy = FaultyProxy.to(etcd.member(0));
    direct = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()));
    direct.kv().delete(KeyRange.all());
    client =
        EtcdClient.connect(
            EtcdAccess.plaintext(proxy.endpoint()),
            new LeaseClocks(
                () -> LeaseClocks.SYSTEM.nanos().getAsLong() + nanos.get(),
                () -> LeaseClocks.SYSTEM.boot().getAsLong() + boot.get(),
                () -> LeaseClocks.SYSTEM.wall().getAsLong() + wall.get()));
  }

  @AfterEach
  void disconnect() {
    client.close();
    direct.close();
    proxy.close();
  }

  private boolean exists(String key) throws InterruptedException {
    return direct.kv().get(key).isPresent();
  }

  @Test
  void aLeaseOutlivesItsTimeThroughEveryKindOfStreamEnd() throws Exception {
    Lease lease = client.leases().grant(TTL);
    client.kv().put("k", "v".getBytes(UTF_8), lease);
    // Waits for one and a half of its time, which it would not outlive without a keep-alive.
    for (int n = 0; n < 6; n++) {
      long next = System.nanoTime() + TTL.dividedBy(4).toNanos();
      Await.until(
          SOON,
          "the stream to be open, and a quarter of the lease's time to pass",
          () -> proxy.open(FaultyProxy.KEEP_ALIVE) > 0 && System.nanoTime() > next);
      switch (n % 3) {
        case 0 -> proxy.complete(FaultyProxy.KEEP_ALIVE);
        case 1 -> proxy.fail(FaultyProxy.KEEP_ALIVE, Status.UNAVAILABLE);
        default -> proxy.reset();
      }
      lease.requireAlive();
    }
    assertTrue(exists("k"));
    assertInstanceOf(LeaseState.Alive.class, lease.state().peek().orElseThrow());
    lease.revoke();
    assertFalse(exists("k"));
    assertInstanceOf(LeaseState.Lost.class, lease.state().peek().orElseThrow());
  }

  @Test
  void withoutAnswersItEndsHereBeforeItEndsThere() throws Exception {
    Lease lease = client.leases().grant(TTL);
    client.kv().put("k", "v".getBytes(UTF_8), lease);
    proxy.stall();
    Await.until(
        SOON,
        "etcd to let it expire",
        () -> {
          boolean there = exists("k");
          // Checked afterwards, so that a pause of any length cannot make it fail.
          assertTrue(there || !lease.isAlive(), "etcd let it expire before we did");
          return !there;
        });
    try (Watcher<LeaseState> watcher = lease.state().watch()) {
      watcher.get(state -> state instanceof LeaseState.Lost, SOON);
    }
    var lost = assertThrows(EtcdLeaseLostException.class, lease::requireAlive);
    assertTrue(lost.getMessage().contains("no answer from etcd"), lost.getMessage());
  }

  @Test
  void itsLifeIsCountedFromTheSendingOfARequestAndNotFromItsAnswer() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    proxy.beforeNextAnswer(FaultyProxy.KEEP_ALIVE, first::countDown);
    Lease lease = client.leases().grant(LONG);
    // Otherwise the held answer could be this stream's.
    Await.until(SOON, "the first stream's answer to reach the proxy", () -> first.getCount() == 0);
    Certainty.Life before = lease.certainty.life();
    // A stream begins with a renewal, whose answer is held back here.
    AtomicLong answered = new AtomicLong();
    CountDownLatch mayAnswer = new CountDownLatch(1);
    proxy.beforeNextAnswer(
        FaultyProxy.KEEP_ALIVE,
        () -> {
          answered.set(System.nanoTime());
          awaitQuietly(mayAnswer);
        });
    proxy.complete(FaultyProxy.KEEP_ALIVE);
    Await.until(SOON, "etcd's answer to reach the proxy", () -> answered.get() != 0);
    mayAnswer.countDown();
    Await.until(SOON, "the answer to reach the client", () -> lease.certainty.life() != before);
    assertTrue(
        lease.certainty.life().deadline().nanos() - LONG.toNanos() - answered.get() < 0,
        "the life was counted from after the moment at which etcd answered");
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aPausedMemberEndsItToo() throws Exception {
    Lease lease = direct.leases().grant(TTL);
    etcd.member(0).pause();
    try (Watcher<LeaseState> watcher = lease.state().watch()) {
      watcher.get(state -> state instanceof LeaseState.Lost, SOON);
    } finally {
      etcd.member(0).resume();
    }
    // A lost lease stays lost, even if etcd still has it.
    assertFalse(lease.isAlive());
  }

  /** Moves the clocks as a suspension of the machine does, which stops the monotonic one. */
  private void suspendFor(Duration time) {
    boot.addAndGet(time.toMillis());
    wall.addAndGet(time.toMillis());
  }

  private void setWallClock(Duration ahead) {
    wall.addAndGet(ahead.toMillis());
  }

  private void passWithoutSuspension(Duration time) {
    nanos.addAndGet(time.toNanos());
    suspendFor(time);
  }

  /** Waits for the answer to a renewal that is sent after this call. */
  private void renew(Lease lease) throws Exception {
    LeaseClocks.Instant now = lease.now();
    Await.until(SOON, "the stream to be open", () -> proxy.open(FaultyProxy.KEEP_ALIVE) > 0);
    // A stream begins with a renewal, so that the next one need not be waited for.
    proxy.complete(FaultyProxy.KEEP_ALIVE);
    Await.until(
        SOON,
        "the answer to a renewal sent from now on",
        () -> now.plus(lease.ttl()).nanos() - lease.certainty.life().deadline().nanos() < 0);
  }

  @Test
  void aLeaseWhoseTimeIsOverStaysOverAndIsGivenBack() throws Exception {
    Lease lease = client.leases().grant(LONG);
    client.kv().put("k", "v".getBytes(UTF_8), lease);
    passWithoutSuspension(LONG.minusSeconds(5));
    assertTrue(lease.isAlive());
    passWithoutSuspension(Duration.ofSeconds(6));
    assertFalse(lease.isAlive());
    passWithoutSuspension(LONGER.negated());
    assertFalse(lease.isAlive(), "the lease came back to life");
    Await.until(SOON, "the key of the lease to go", () -> !exists("k"));
    assertInstanceOf(LeaseState.Lost.class, lease.state().peek().orElseThrow());
  }

  @Test
  void aSuspensionEndsALeaseForGoodThoughTheMonotonicClockStoodStill() throws Exception {
    Lease lease = client.leases().grant(LONG);
    suspendFor(LONGER);
    assertFalse(lease.isAlive());
    assertThrows(EtcdLeaseLostException.class, lease::requireAlive);
  }

  @Test
  void anAnswerThatComesAfterTheEndDoesNotReviveALease() throws Exception {
    Lease lease = client.leases().grant(LONG);
    Await.until(SOON, "the stream to be open", () -> proxy.open(FaultyProxy.KEEP_ALIVE) > 0);
    suspendFor(LONGER);
    // The next stream begins with a renewal, which etcd answers, since it did not count the
    // suspension.
    proxy.complete(FaultyProxy.KEEP_ALIVE);
    try (Watcher<LeaseState> watcher = lease.state().watch()) {
      watcher.get(state -> state instanceof LeaseState.Lost, SOON);
    }
    assertFalse(lease.isAlive());
    assertFalse(lease.leaderLease().holds());
  }

  @Test
  void theWallClockDoesNotEndALease() throws Exception {
    Lease lease = client.leases().grant(LONG);
    setWallClock(Duration.ofHours(1));
    assertTrue(lease.isAlive());
    setWallClock(Duration.ofHours(-2));
    assertTrue(lease.isAlive());
  }

  @Test
  void certaintyEndsAMarginBeforeTheLease() throws Exception {
    Lease lease = client.leases().grant(LONG);
    LeaderLease leader = lease.leaderLease();
    assertTrue(leader.holds());
    nanos.set(Duration.ofSeconds(46).toNanos());
    assertFalse(leader.holds());
    assertTrue(lease.isAlive());
  }

  @Test
  void aSuspensionEndsCertaintyThoughTheWallClockIsSetBackByAsMuch() throws Exception {
    Lease lease = client.leases().grant(LONG);
    assertTrue(lease.leaderLease().holds());
    suspendFor(LONGER);
    setWallClock(LONGER.negated());
    assertFalse(lease.leaderLease().holds(), "etcd may have given the lock to another");
  }

  @Test
  void certaintyThatEndedStaysEndedWhateverTheClocksShowLater() throws Exception {
    for (AtomicLong clock : List.of(nanos, boot, wall)) {
      LeaderLease leader = client.leases().grant(LONG).leaderLease();
      assertTrue(leader.holds());
      long ahead = clock == nanos ? LONGER.toNanos() : LONGER.toMillis();
      clock.addAndGet(ahead);
      assertFalse(leader.holds());
      clock.addAndGet(-ahead);
      assertFalse(leader.holds(), "certain again without an answer of etcd");
    }
  }

  @Test
  void certaintyComesBackWithTheAnswerToARenewalSentAfterItsEnd() throws Exception {
    Lease lease = client.leases().grant(LONG);
    setWallClock(LONGER);
    assertFalse(lease.leaderLease().holds());
    renew(lease);
    assertTrue(lease.leaderLease().holds());
  }

  @Test
  void anAnswerToARenewalSentBeforeTheEndOfCertaintyDoesNotBringItBack() throws Exception {
    Lease lease = client.leases().grant(LONG);
    Certainty.Request sent = lease.certainty.request(lease.now());
    setWallClock(LONGER);
    assertFalse(lease.leaderLease().holds());
    setWallClock(LONGER.negated());
    lease.certainty.answered(sent, LONG);
    assertFalse(lease.leaderLease().holds());
  }

  @Test
  void aClockThatIsSetBackDoesNotProlongCertainty() throws Exception {
    Lease lease = client.leases().grant(LONG);
    setWallClock(Duration.ofHours(-1));
    assertTrue(lease.leaderLease().holds());
    nanos.set(LONGER.toNanos());
    assertFalse(lease.leaderLease().holds());
  }

  @Test
  void bothClocksThatCannotBeSetRunAlike() throws Exception {
    // The margin exists because the file is exact to 10 ms, and the clocks are read one after the
    // other.
    LeaseClocks.Instant first = LeaseClocks.SYSTEM.now();
    Await.until("half a second to pass", () -> passed(first).toMillis() >= 500);
    long nanos = passed(first).toMillis();
    long boot = LeaseClocks.SYSTEM.now().boot() - first.boot();
    assertTrue(
        boot >= nanos - 20, boot + " ms by the clock of the boot, " + nanos + " by the other");
  }

  private static Duration passed(LeaseClocks.Instant since) {
    return Duration.ofNanos(LeaseClocks.SYSTEM.now().nanos() - since.nanos());
  }

  @Test
  void certaintyEndsWhenTheLeaseIsGivenUpInAnyWay() throws Exception {
    Lease released = client.leases().grant(Duration.ofSeconds(60));
    Lease closed = client.leases().grant(Duration.ofSeconds(60));
    released.release();
    closed.close();
    assertFalse(released.leaderLease().holds());
    assertFalse(closed.leaderLease().holds());
  }

  @Test
  void aLeaseIsLostWhenEtcdHasGoneBackToAnOlderSnapshot() throws Exception {
    // Must outlive etcd's stops and starts; a keep-alive is due after a third of it.
    Lease lease = client.leases().grant(Duration.ofSeconds(60));
    Duration patience = Duration.ofSeconds(30);
    Path snapshot = Files.createTempDirectory("snapshot").resolve("data");
    Path data = etcd.member(0).data();
    etcd.member(0).stop();
    copy(data, snapshot);
    etcd.member(0).restart();
    long before = direct.kv().put("k", "lost".getBytes(UTF_8));
    long written = System.nanoTime();
    // A stream begins with a keep-alive, so that the next one need not be waited for.
    Await.until(patience, "the stream to be open", () -> proxy.open(FaultyProxy.KEEP_ALIVE) > 0);
    proxy.complete(FaultyProxy.KEEP_ALIVE);
    Await.until(
        patience,
        "the answer to a keep-alive that was sent after the write",
        () -> lease.certainty.life().deadline().nanos() - lease.ttl().toNanos() - written > 0);
    lease.requireAlive();
    etcd.member(0).stop();
    delete(data);
    copy(snapshot, data);
    etcd.member(0).restart();

    try (Watcher<LeaseState> watcher = lease.state().watch()) {
      LeaseState end = watcher.get(state -> state instanceof LeaseState.Lost, patience);
      assertTrue(end.toString().contains("restored"), end.toString());
    }
    assertTrue(direct.kv().range(KeyRange.all()).revision() < before);
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder).sorted(Comparator.reverseOrder())) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.delete(file);
      }
    }
  }

  @Test
  void aRevocationByAnotherIsNoticed() throws Exception {
    Lease lease = client.leases().grant(TTL);
    etcd.etcdctl("lease", "revoke", Long.toHexString(lease.id()));
    try (Watcher<LeaseState> watcher = lease.state().watch()) {
      LeaseState end = watcher.get(state -> state instanceof LeaseState.Lost, SOON);
      assertTrue(end.toString().contains("does not know it"), end.toString());
    }
  }

  @Test
  void aReleasedLeaseGoesOnWithItsSuccessor() throws Exception {
    Lease first = client.leases().grant(TTL);
    client.kv().put("k", "v".getBytes(UTF_8), first);
    first.release();
    assertEquals(Optional.of(new LeaseState.Released()), first.state().peek());
    Lease second = direct.leases().adopt(first.id());
    long until = System.nanoTime() + TTL.multipliedBy(2).toNanos();
    Await.until(SOON, "twice its time to pass", () -> System.nanoTime() > until);
    assertTrue(exists("k"));
    second.close();
    assertFalse(exists("k"));
    assertThrows(EtcdLeaseLostException.class, () -> client.leases().adopt(first.id()));
  }

  @Test
  void closingTheClientGivesItsLeasesBack() throws Exception {
    Lease lease = client.leases().grant(Duration.ofSeconds(60));
    client.kv().put("k", "v".getBytes(UTF_8), lease);
    client.close();
    assertFalse(exists("k"));
  }
}
