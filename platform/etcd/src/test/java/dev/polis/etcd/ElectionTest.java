package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Tier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("longer")
class ElectionTest {

  private static final KeyPrefix PREFIX = KeyPrefix.of("/leader/");
  private static final Duration TTL = MachineSpeed.measure().stretched(Duration.ofSeconds(2));

  /** Long enough for several leases to end one after the other. */
  private static final Duration SOON = TTL.multipliedBy(10);

  private static final int ROUNDS = Tier.isLong() ? 10 : 1;

  private static EtcdFixture etcd;
  private final List<EtcdClient> clients = new ArrayList<>();

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(3);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  /** One client for each member, connected only to it. */
  @BeforeEach
  void connect() throws Exception {
    for (String endpoint : etcd.endpoints()) {
      clients.add(EtcdClient.connect(EtcdAccess.plaintext(endpoint).sub("curator")));
    }
    clients.getFirst().kv().delete(KeyRange.all());
  }

  @AfterEach
  void disconnect() {
    clients.forEach(EtcdClient::close);
  }

  private Election stand(int node) {
    return clients.get(node).election(options(node));
  }

  private static ElectionOptions options(int node) {
    byte[] value = name(node).getBytes(UTF_8);
    return ElectionOptions.of(PREFIX, value)
        .withTtl(TTL)
        .removing(lock -> lock.text().equals(name(node)));
  }

  private static String name(int node) {
    return "node-" + node;
  }

  private static ElectionState.Leader awaitLeader(Election election) throws Exception {
    return (ElectionState.Leader)
        await(election, state -> state instanceof ElectionState.Leader, "leadership");
  }

  private static void awaitFollower(Election election, int leader) throws Exception {
    await(
        election,
        state ->
            state instanceof ElectionState.Follower(KeyValue lock)
                && lock.text().equals(name(leader)),
        "following " + name(leader));
  }

  private static ElectionState await(
      Election election, Predicate<ElectionState> wanted, String what) throws Exception {
    return Await.value(election.state(), wanted, SOON, what);
  }

  @Test
  @DisplayName("a lock without a lease is removed, before an election and during one")
  void lockWithoutLease() throws Exception {
    KeyValues kv = clients.get(0).kv();
    String abandoned = PREFIX.key("0");
    kv.put(abandoned, new byte[] {(byte) 0xff});
    Election first = stand(0);
    awaitLeader(first);
    assertTrue(kv.get(abandoned).isEmpty(), "the abandoned lock is still there");

    Election second = stand(1);
    awaitFollower(second, 0);
    KeyValue lock = kv.get(((ElectionState.Leader) now(first)).lockKey()).orElseThrow();
    first.close();
    awaitLeader(second);
    // A remaining key of a leader whose lock was overwritten is older than each later lock.
    kv.put(PREFIX.key("1"), lock.value());
    Election third = stand(2);
    awaitFollower(third, 1);
    second.close();
    awaitLeader(third);
    assertTrue(kv.get(PREFIX.key("1")).isEmpty(), "the abandoned lock is still there");
  }

  private static ElectionState now(Election election) {
    return election.state().peek().orElseThrow();
  }

  @Test
  @DisplayName("a leader whose lock was overwritten writes it again and keeps leading")
  void overwrittenLock() throws Exception {
    Election first = stand(0);
    ElectionState.Leader led = awaitLeader(first);
    Election second = stand(1);
    awaitFollower(second, 0);
    KeyValues kv = clients.get(2).kv();

    kv.put(led.lockKey(), new byte[] {(byte) 0xff});

    Await.until(
        SOON,
        "the lock to be written again, on its lease",
        () ->
            kv.get(led.lockKey())
                .filter(lock -> lock.text().equals(name(0)) && lock.lease() != 0)
                .isPresent());
    awaitFollower(second, 0);
    assertEquals(led, now(first), "the leadership is the same");
  }

  @Test
  @DisplayName("CUR-02 one leader, two followers; the leader's member is cut off: another leads")
  void cur02_electionAndPartition() throws Exception {
    Election first = stand(0);
    ElectionState.Leader led = awaitLeader(first);
    Election second = stand(1);
    awaitFollower(second, 0);
    Election third = stand(2);
    awaitFollower(third, 0);
    KeyValues fenced = clients.get(0).kv().fenced(led.fence());
    fenced.put("/by-leader", "0".getBytes(UTF_8));

    int leader;
    etcd.partition(etcd.member(0));
    try {
      await(first, state -> state instanceof ElectionState.Neither, "the old leader to step down");
      // Either of the two may lead: while the other members elect a leader of etcd, a follower's
      // lease may end.
      leader = awaitAnyLeader(List.of(first, second, third));
      ElectionState.Leader next = awaitLeader(leader == 1 ? second : third);
      assertNotEquals(led.lockKey(), next.lockKey());
      assertTrue(next.createRevision() > led.createRevision());
      awaitFollower(leader == 1 ? third : second, leader);
      clients.get(leader).kv().fenced(next.fence()).put("/by-leader", "1".getBytes(UTF_8));
    } finally {
      etcd.heal();
    }
    awaitFollower(first, leader);
    assertThrows(EtcdFencedException.class, () -> fenced.put("/by-leader", "late".getBytes(UTF_8)));
    assertEquals("1", clients.get(0).kv().get("/by-leader").orElseThrow().text());
  }

  @Test
  @DisplayName("CUR-02 a paused member: its client steps down before another leads")
  void cur02_pausedMember() throws Exception {
    Election first = stand(0);
    Lease lease = awaitLeader(first).lease().lease;
    Election second = stand(1);
    awaitFollower(second, 0);
    etcd.member(0).pause();
    long paused = System.nanoTime();
    try {
      awaitLeader(second);
      // Each answered request was sent before the pause, and etcd starts to count later.
      assertTrue(
          lease.certainty.life().deadline().nanos() - paused <= TTL.toNanos(),
          "the old leader relied on its lease for longer than etcd");
      assertFalse(lease.isAlive(), "the lease of the old leader is still alive");
      assertTrue(
          first.state().peek().orElseThrow() instanceof ElectionState.Neither,
          "two leaders: " + first.state());
    } finally {
      etcd.member(0).resume();
    }
    awaitFollower(first, 1);
  }

  /** A second of silence, and the election. */
  private static final Duration REPLACED = Duration.ofSeconds(2);

  /** Much longer than the waits of the tests below, which only a removal of the lock ends. */
  private static final Duration LONG = Duration.ofSeconds(60);

  private Election replacing(int node, Predicate<KeyValue> ended) {
    return clients.get(node).election(options(node).withTtl(LONG).replacing(ended));
  }

  @Test
  @DisplayName(
      "a leader that has ended is replaced after a second, and no longer relies on its lock")
  void anEndedLeaderIsReplacedLongBeforeItsLease() throws Exception {
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient own =
            EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub("curator"))) {
      Election first = own.election(options(0).withTtl(LONG));
      ElectionState.Leader led = awaitLeader(first);
      assertTrue(led.lease().holds(), "a single candidate relies on its lease");
      assertEquals(1, lock(led).version(), "a single candidate writes its lock again");
      Election second = replacing(1, lock -> true);
      awaitFollower(second, 0);
      Election third = replacing(2, lock -> true);
      awaitFollower(third, 0);
      awaitBeats(led, 3);
      assertTrue(led.lease().holds(), "it writes its lock again, and relies on that");

      MachineSpeed speed = MachineSpeed.measure();
      proxy.stall();
      long stalled = System.nanoTime();
      AtomicBoolean overlap = new AtomicBoolean();
      Await.until(
          SOON,
          "the second candidate to lead",
          () -> {
            boolean leads = now(second) instanceof ElectionState.Leader;
            // Asked afterwards, so that a pause of any length cannot make it fail.
            boolean holds = led.lease().holds();
            overlap.compareAndSet(false, leads && holds);
            return leads;
          });
      Duration took = Duration.ofNanos(System.nanoTime() - stalled);
      assertFalse(overlap.get(), "two leaders were certain at the same time");
      speed.assertWithin("another candidate led", REPLACED, took);
      awaitFollower(third, 1);
      proxy.heal();
      await(first, state -> !(state instanceof ElectionState.Leader), "the old one to step down");
      assertFalse(led.lease().holds());
    }
  }

  @Test
  @DisplayName("a leader that is silent but lives keeps its lock, and relies on it again")
  void aSilentLeaderThatLivesIsNotReplaced() throws Exception {
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient own =
            EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub("curator"))) {
      Election first = own.election(options(0).withTtl(LONG));
      ElectionState.Leader led = awaitLeader(first);
      AtomicInteger looks = new AtomicInteger();
      Election second =
          replacing(
              1,
              lock -> {
                looks.incrementAndGet();
                return false;
              });
      awaitFollower(second, 0);
      awaitBeats(led, 2);

      proxy.stall();
      Await.until(SOON, "several looks for the leader", () -> looks.get() >= 20);
      assertFalse(led.lease().holds(), "it relies on a lock that it cannot write");
      assertEquals(led.createRevision(), lock(led).createRevision());
      proxy.heal();

      Await.until(SOON, "the leader to be certain again", led.lease()::holds);
      assertEquals(led, now(first), "the leadership is the same");
      awaitFollower(second, 0);
    }
  }

  @Test
  @DisplayName("a removal that comes after a later write of the leader does nothing")
  void aRemovalOnAnOldSightDoesNothing() throws Exception {
    Election first = clients.get(0).election(options(0).withTtl(LONG));
    ElectionState.Leader led = awaitLeader(first);
    CountDownLatch looking = new CountDownLatch(1);
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(1));
        EtcdClient own =
            EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()).sub("curator"))) {
      Election second =
          own.election(
              options(1)
                  .withTtl(LONG)
                  .replacing(
                      lock -> {
                        looking.countDown();
                        return true;
                      }));
      awaitFollower(second, 0);
      // Only a candidate that has heard several writes believes in a silence.
      Await.until(
          SOON,
          "the candidate's member to have several writes of the lock",
          () -> own.kv().get(led.lockKey()).orElseThrow().version() >= 5);
      // The candidate hears nothing, so that it believes in a silence, and then calls etcd again.
      proxy.stall();
      assertTrue(looking.await(SOON.toSeconds(), TimeUnit.SECONDS), "it does not look");
      awaitBeats(led, lock(led).version() + 4);
      proxy.heal();
      awaitBeats(led, lock(led).version() + 4);
      assertEquals(led, now(first), "the leadership is the same");
      awaitFollower(second, 0);
    }
  }

  @Test
  @DisplayName("a changed value reaches followers at once, and the leadership stays")
  void anAnnouncedValueReachesFollowers() throws Exception {
    Election first = clients.get(0).election(options(0).withTtl(LONG));
    ElectionState.Leader led = awaitLeader(first);
    first.announce("moved".getBytes(UTF_8));
    Election second = clients.get(1).election(options(1).withTtl(LONG));
    await(second, state -> names(state, "moved"), "the first change");
    second.announce("waits elsewhere".getBytes(UTF_8));
    first.announce("moved again".getBytes(UTF_8));
    await(second, state -> names(state, "moved again"), "the second change");
    assertEquals(led, now(first), "the leadership is the same");
    Election third = clients.get(2).election(options(2).withTtl(LONG));
    awaitBeats(led, lock(led).version() + 2);
    first.close();
    awaitLeader(second);
    await(third, state -> names(state, "waits elsewhere"), "the value of the next leader");
  }

  private static boolean names(ElectionState state, String value) {
    return state instanceof ElectionState.Follower(KeyValue lock) && lock.text().equals(value);
  }

  private KeyValue lock(ElectionState.Leader leader) throws Exception {
    return clients.get(2).kv().get(leader.lockKey()).orElseThrow();
  }

  private void awaitBeats(ElectionState.Leader leader, long version) throws Exception {
    Await.until(
        SOON, "the leader to write its lock again", () -> lock(leader).version() >= version);
  }

  @Test
  void resigningLetsTheNextOneLeadAtOnce() throws Exception {
    Election first = stand(0);
    awaitLeader(first);
    Election second = stand(1);
    awaitFollower(second, 0);
    long begun = System.nanoTime();
    first.close();
    awaitLeader(second);
    assertTrue(
        System.nanoTime() - begun < TTL.toNanos(), "the lock was left to expire, not given back");
    assertEquals(new ElectionState.Neither("resigned"), first.state().peek().orElseThrow());
  }

  @Test
  void aHandOverIsNoElection() throws Exception {
    Election first = clients.get(0).election(options(0));
    ElectionState.Leader before = awaitLeader(first);
    Election other = clients.get(1).election(options(1));
    awaitFollower(other, 0);
    try (Watcher<ElectionState> seen = other.state().watch()) {
      seen.get(SOON);
      ElectionHandOver place = first.handOver().orElseThrow();
      Election successor = clients.get(2).election(options(0).takingUp(place));
      ElectionState.Leader after = awaitLeader(successor);
      assertEquals(before.createRevision(), after.createRevision());
      assertEquals(before.lockKey(), after.lockKey());
      clients.get(0).kv().fenced(before.fence()).put("/x", new byte[0]);
      // The successor has written the lock again, with the same value, and renews its lease: no
      // other may lead.
      assertThrows(
          TimeoutException.class,
          () -> seen.get(state -> !(state instanceof ElectionState.Follower), TTL.multipliedBy(2)));
    }
  }

  @Test
  void aCandidateThatStandsByTakesAPlaceUpWhetherItHasSeenTheLockOrNot() throws Exception {
    Election early = clients.get(2).election(options(0).standingBy());
    assertTrue(early.awaitReady(SOON));
    Election first = stand(0);
    ElectionState.Leader before = awaitLeader(first);
    Election late = clients.get(1).election(options(0).standingBy());
    assertTrue(late.awaitReady(SOON));

    late.takeUp(first.handOver().orElseThrow());
    assertEquals(before.createRevision(), awaitLeader(late).createRevision());
    early.takeUp(late.handOver().orElseThrow());
    assertEquals(before.createRevision(), awaitLeader(early).createRevision());
    clients.get(0).kv().fenced(before.fence()).put("/x", new byte[0]);
  }

  @Test
  void aCandidateThatStandsByEndsWithoutALock() throws Exception {
    Election election = clients.get(0).election(options(0).standingBy());
    assertTrue(election.awaitReady(SOON));
    assertTrue(election.handOver().isEmpty());
    assertTrue(clients.get(1).kv().range(PREFIX.range()).keys().isEmpty());
  }

  @Test
  void aLockOfThePreviousLifeIsRemovedInsteadOfWaitedFor() throws Exception {
    Lease previous = clients.get(1).leases().grant(Duration.ofSeconds(60));
    clients
        .get(1)
        .kv()
        .put(PREFIX.key(Long.toHexString(previous.id())), name(0).getBytes(UTF_8), previous);
    awaitLeader(stand(0));
  }

  @Test
  void aRemovedLockIsNoticedAndAnotherOneTaken() throws Exception {
    Election election = stand(0);
    ElectionState.Leader before = awaitLeader(election);
    try (Watcher<ElectionState> seen = election.state().watch()) {
      seen.get(SOON);
      // A lock without a lease delays the next leader, so that the state in between is visible.
      clients
          .get(1)
          .kv()
          .txn()
          .then(Op.delete(before.lockKey()), Op.put(PREFIX.key("1"), name(1).getBytes(UTF_8)))
          .commit();
      seen.get(state -> state instanceof ElectionState.Neither, SOON);
    }
    await(
        election,
        state ->
            state instanceof ElectionState.Leader next
                && next.createRevision() > before.createRevision(),
        "leadership by another lock");
    assertFalse(before.lease().holds(), "the leadership that ended still counts as certain");
  }

  @Test
  void afterALockWasDeletedByHandTheNextCandidateWaitsForItsLease() throws Exception {
    Lease paused = clients.get(1).leases().grant(TTL);
    String lock = PREFIX.key("0");
    clients.get(1).kv().put(lock, name(1).getBytes(UTF_8), paused);
    Election next = stand(0);
    awaitFollower(next, 1);

    clients.get(2).kv().delete(lock);

    await(
        next,
        state -> state.toString().contains(Long.toHexString(paused.id())),
        "the lease that is waited for");
    assertTrue(paused.leaderLease().holds(), "its holder may still rely on it");
    paused.close();
    awaitLeader(next);
  }

  @Test
  void thereIsNeverMoreThanOneLeaderWhileMembersComeAndGo() throws Exception {
    List<Election> all = List.of(stand(0), stand(1), stand(2));
    List<Value<ElectionState>> states = all.stream().map(Election::state).toList();
    for (int round = 0; round < ROUNDS; round++) {
      int leader = awaitAnyLeader(all);
      assertTrue(leaders(states) <= 1, "more than one leader");
      etcd.member(leader).pause();
      try {
        await(all.get(leader), state -> state instanceof ElectionState.Neither, "to step down");
        int next = awaitAnyLeader(all);
        assertNotEquals(leader, next);
        assertTrue(leaders(states) <= 1, "more than one leader");
      } finally {
        etcd.member(leader).resume();
      }
      await(
          all.get(leader),
          state -> !(state instanceof ElectionState.Neither),
          "the old leader to take part again");
    }
  }

  /**
   * Returns the number of leaders at the same time: those that lead with the same lock before and
   * after all others are read.
   */
  private static long leaders(List<Value<ElectionState>> states) {
    List<ElectionState> before = states.stream().map(state -> state.peek().orElseThrow()).toList();
    List<ElectionState> after = states.stream().map(state -> state.peek().orElseThrow()).toList();
    return IntStream.range(0, states.size())
        .filter(n -> before.get(n) instanceof ElectionState.Leader)
        .filter(n -> before.get(n).equals(after.get(n)))
        .count();
  }

  private static int awaitAnyLeader(List<Election> all) throws Exception {
    int[] leader = {-1};
    Await.until(
        SOON,
        "any leader",
        () -> {
          for (int n = 0; n < all.size(); n++) {
            if (all.get(n).state().peek().orElseThrow() instanceof ElectionState.Leader) {
              leader[0] = n;
            }
          }
          return leader[0] >= 0;
        });
    return leader[0];
  }
}
