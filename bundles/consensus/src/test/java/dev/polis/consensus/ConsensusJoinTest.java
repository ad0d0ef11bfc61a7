package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.api.consensus.LocalMember;
import dev.polis.api.network.NetworkStatus;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lets a second member join the first one's etcd, and leave it. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class ConsensusJoinTest {

  private static final byte[] BAR = "bar".getBytes(StandardCharsets.UTF_8);

  /** The longest time of a write while its member starts again. */
  private static final Duration HELD = Duration.ofSeconds(3);

  private ConsensusHarness first;
  private ConsensusHarness second;
  private ConsensusHarness third;
  private Instance leader;

  @BeforeEach
  void open() throws Exception {
    first = new ConsensusHarness();
    second = new ConsensusHarness();
    third = new ConsensusHarness();
    leader = first.instance();
    leader.startNew();
  }

  @AfterEach
  void close() throws IOException {
    third.close();
    second.close();
    first.close();
  }

  private ConsensusStanding step(Instance joining) throws Exception {
    return Joining.step(leader, second, joining);
  }

  private String becomeVoter(Instance joining) throws Exception {
    return Joining.becomeVoter(leader, second, joining);
  }

  private static void put(Instance instance) throws Exception {
    try (EtcdClient client = EtcdClient.connect(instance.consensus.access("curator"))) {
      client.kv().put("/foo", BAR);
    }
  }

  private static String get(Instance instance) throws Exception {
    try (EtcdClient client = EtcdClient.connect(instance.consensus.access("curator"))) {
      return new String(client.kv().get("/foo").orElseThrow().value(), StandardCharsets.UTF_8);
    }
  }

  @Test
  @DisplayName("CON-04 a learner becomes a voter, reads earlier data, and starts from its disk")
  void con04_learnerBecomesVoter() throws Exception {
    put(leader);
    Instance joining = second.instance();
    String id = becomeVoter(joining);
    assertEquals("bar", get(joining));
    List<ConsensusVoter> both =
        Stream.of(first, second)
            .map(each -> new ConsensusVoter(each.identity.node().text(), true))
            .sorted(Comparator.comparing(ConsensusVoter::name))
            .toList();
    assertEquals(both, joining.consensus.voters());
    assertEquals(Optional.of(new LocalMember(id, false, false)), joining.consensus.localMember());
    long pid = joining.pid();

    Instance next = second.instance();
    assertEquals(id, next.startExisting().memberId());
    assertEquals(pid, next.pid(), "it was not adopted");
  }

  @Test
  @DisplayName(
      "CON-04 an etcd that is alone takes the usual heartbeat before it gets a learner, and runs on through the promotion: no write waits longer than 3 s")
  void con04_heartbeatBeforeTheLearner() throws Exception {
    long alone = leader.pid();
    Instance joining = second.instance();
    MachineSpeed speed = MachineSpeed.measure();
    List<Writer> writers = Writer.around(List.of(leader), 4, _ -> growUnderWriters(alone, joining));

    Duration longest = speed.allowed(HELD);
    writers.forEach(writer -> writer.requireAnswers(longest));
    Joining.awaitRecorded(first, second);
    assertFalse(leader.consensus.localMember().orElseThrow().alone());
  }

  private void growUnderWriters(long alone, Instance joining) throws Exception {
    String said =
        assertThrows(ConsensusException.class, () -> Joining.ask(leader, second, joining))
            .getMessage();
    assertTrue(said.contains("heartbeat of a cluster of several members"), said);

    assertInstanceOf(ConsensusStanding.Invited.class, Joining.admit(leader, second, joining));
    long several = leader.pid();
    assertNotEquals(alone, several, "its etcd has the heartbeat of a single member");
    becomeVoter(joining);
    assertEquals(several, leader.pid(), "its etcd started again beside a learner or a voter");
  }

  @Test
  @DisplayName("CON-04 a learner gets its vote through a member that does not lead etcd")
  void con04_promotedThroughAFollower() throws Exception {
    long heir = Long.parseUnsignedLong(becomeVoter(second.instance()), 16);
    AtomicReference<String> obstacle = new AtomicReference<>("none");
    Await.until(
        ConsensusHarness.PATIENCE,
        "the second member to lead etcd",
        () -> {
          try (EtcdClient root = ConsensusTest.root(leader)) {
            return leads(root, heir);
          } catch (EtcdException notNow) {
            obstacle.set(notNow.getMessage());
            return false;
          }
        },
        obstacle::get);

    Joining.becomeVoter(leader, third, third.instance());

    assertEquals(3, leader.consensus.voters().size());
  }

  /** Returns whether a member leads etcd; gives it the lead if the asked one has it. */
  private static boolean leads(EtcdClient root, long heir) throws InterruptedException {
    EtcdEndpoint own = root.admin().endpoints().getFirst();
    if (root.admin().status(own).isLeader()) {
      root.admin().moveLeader(own, heir);
    }
    return root.admin().status(own).leaderId() == heir;
  }

  @Test
  @DisplayName("CON-04 a node that ends after each step of its way continues with the same member")
  void con04_crashWindows() throws Exception {
    Instance asking = second.instance();
    ConsensusInvitation lost =
        assertInstanceOf(ConsensusStanding.Invited.class, Joining.admit(leader, second, asking))
            .invitation();
    assertTrue(asking.consensus.localMember().isEmpty(), "it has a record of a lost invitation");

    new ConsensusDisk(second.files()).recordInvitation(second.identity.node(), lost);
    Instance recorded = second.instance();
    assertEquals(
        Optional.of(new LocalMember(lost.memberId(), true, false)),
        recorded.consensus.localMember());
    assertEquals("", recorded.consensus.candidate().memberId(), "it has no data yet");

    assertEquals(lost.memberId(), becomeVoter(recorded));
  }

  @Test
  @DisplayName("CON-04 the start of a learner continues although its invitation comes again")
  void con04_invitedAgain() throws Exception {
    Instance joining = second.instance();
    ConsensusInvitation invitation =
        assertInstanceOf(ConsensusStanding.Invited.class, Joining.admit(leader, second, joining))
            .invitation();
    second.network.set(new NetworkStatus.Waiting("a cable"));
    joining.consensus.join(second.identity, invitation);
    ConsensusStatus waits =
        joining.await(ConsensusStatus.Starting.class, status -> status.text().contains("address"));

    for (int again = 0; again < 20; again++) {
      joining.consensus.join(second.identity, invitation);
      assertEquals(Optional.of(waits), joining.consensus.status().peek());
    }

    second.network.set(new NetworkStatus.Up(second.address));
    assertEquals(invitation.memberId(), becomeVoter(joining));
  }

  @Test
  @DisplayName("CON-07 and D-12 an organ with a learner ends at once, and the next one continues")
  void con07_learnerEnds() throws Exception {
    Instance waiting = second.instance();
    step(waiting);
    waiting.await(ConsensusStatus.Starting.class, status -> status.text().contains("its vote"));
    String id = waiting.consensus.localMember().orElseThrow().memberId();
    long pid = waiting.pid();
    MachineSpeed speed = MachineSpeed.measure();
    long begin = System.nanoTime();

    second.closeInstance();

    speed.assertWithin(
        "the organ ended", Duration.ofSeconds(5), Duration.ofNanos(System.nanoTime() - begin));
    Instance next = second.instance();
    assertEquals(id, becomeVoter(next));
    assertEquals(pid, next.pid(), "its etcd was not adopted");
  }

  @Test
  @DisplayName(
      "D-13 a member that was removed meanwhile ends, and its data are set aside in place of those of an earlier one")
  void d13_removedMeanwhile() throws Exception {
    String id = becomeVoter(second.instance());
    second.closeInstance();
    expel(id);

    Instance back = second.instance();
    back.consensus.startExisting(second.identity);
    Path aside = second.root.data().path().resolve("etcd-removed").resolve(id);
    Await.until(
        ConsensusHarness.PATIENCE.multipliedBy(2),
        "the data to be set aside",
        () -> Files.isDirectory(aside.resolve("data").resolve("member")),
        () -> back.consensus.status().peek());
    back.await(ConsensusStatus.Stopped.class);
    assertTrue(back.consensus.localMember().isEmpty());
    assertFalse(Files.exists(second.files().etcd().path()));

    String next = becomeVoter(back);
    assertNotEquals(id, next, "an id was used twice");
    assertEquals(List.of(id), second.files().removed().list());
    expel(next);
    Await.until(
        ConsensusHarness.PATIENCE.multipliedBy(2),
        "the data of the next member in place of the first one's",
        () -> List.of(next).equals(second.files().removed().list()),
        () -> back.consensus.status().peek());
  }

  @Test
  @DisplayName(
      "a node that the cluster has removed erases the files of its former member and of the running one")
  void erased() throws Exception {
    String former = becomeVoter(second.instance());
    Instance removed = second.instance();
    expel(former);
    removed.consensus.startExisting(second.identity);
    removed.await(ConsensusStatus.Stopped.class);
    String id = becomeVoter(removed);
    assertEquals(List.of(former), second.files().removed().list());
    assertEquals(id, removed.consensus.localMember().orElseThrow().memberId());
    expel(id);

    removed.consensus.erase();

    assertFalse(Files.exists(second.files().etcd().path()));
    assertFalse(Files.exists(second.files().removed().path()));
    assertTrue(removed.consensus.localMember().isEmpty());
    removed.await(ConsensusStatus.Stopped.class);
    removed.consensus.erase();
  }

  @Test
  @DisplayName(
      "an original does not start beside its copy that has started before, names both addresses, and continues once that has ended")
  void originalAfterItsCopy() throws Exception {
    leader = first.instance(ConsensusHarness.maintainedOften());
    leader.startExisting();
    String id = becomeVoter(second.instance(ConsensusHarness.maintainedOften()));
    Joining.awaitRecorded(first, second);
    Joining.awaitRecorded(second, first);
    second.lose();
    second.copyTo(third);
    Instance copy = third.instance();
    copy.consensus.startExisting(second.identity);
    assertEquals(id, copy.consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId());

    Instance original = second.instance();
    original.consensus.startExisting(second.identity);
    String reason = original.await(ConsensusStatus.Failed.class).reason();
    assertTrue(
        reason.contains("runs at " + third.address.getHostAddress() + ":7833 already"), reason);
    assertTrue(reason.contains("does not start at " + second.address.getHostAddress()), reason);
    assertTrue(original.processes.find("etcd").isEmpty(), "a second etcd has started");
    assertEquals(id, copy.consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId());
  }

  @Test
  @DisplayName("a voter that starts beside lost ones names each of them, as soon as they are most")
  void startWithoutQuorum() throws Exception {
    leader = first.instance(ConsensusHarness.maintainedOften());
    leader.startExisting();
    becomeVoter(second.instance());
    Joining.awaitRecorded(first, second);
    second.lose();
    first.lose();
    Instance alone = first.instance();
    alone.consensus.startExisting(first.identity);
    String lost = second.identity.node().text() + " at " + second.address.getHostAddress();
    Await.until(
        ConsensusHarness.PATIENCE,
        "health to name the lost voter",
        () ->
            health(alone).contains("etcd has waited for other members")
                && health(alone).contains(lost),
        () -> health(alone));
  }

  private static String health(Instance instance) {
    return instance.health.all().peek().orElseThrow().toString();
  }

  private void expel(String id) throws Exception {
    Await.until(
        ConsensusHarness.PATIENCE,
        "etcd to let the second member go",
        () -> {
          try {
            leader.consensus.expel(id);
            return true;
          } catch (ConsensusException notConnectedLongEnough) {
            return false;
          }
        });
  }
}
