package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.etcd.EtcdMember;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class MemberContactTest {

  /** Gives the answers that a test sets. */
  private static final class FakeEtcd implements MemberContact.Etcd {
    Optional<EtcdFigures> figures = Optional.of(new EtcdFigures(true, Set.of("2", "3"), 0, 0));
    Optional<MemberContact.Fault> own = Optional.empty();
    Optional<String> stuck = Optional.empty();
    MemberContact.Start start = new MemberContact.Start(3, List.of());
    List<EtcdMember> members = List.of(member(1), member(2), member(3));
    boolean waits; // whether the others answer, and wait for a leader
    int asked;
    boolean unreached; // whether no connection to the others opens
    Set<String> living = Set.of(); // the members whose nodes have a lease
    long reached; // the member that answers and follows the leader of the others; 0 if none does

    @Override
    public Optional<EtcdFigures> figures() {
      return figures;
    }

    @Override
    public Optional<MemberContact.Fault> ownPort() {
      return own;
    }

    @Override
    public Optional<String> stuck() {
      return stuck;
    }

    @Override
    public List<EtcdMember> members() {
      return members;
    }

    @Override
    public long ownId() {
      return 1;
    }

    @Override
    public MemberContact.Answer ask(EtcdMember member) {
      asked++;
      if (member.id() == reached) {
        return new MemberContact.Works(3);
      }
      if (unreached) {
        return new MemberContact.Unreached(
            new MemberContact.Fault(
                "no packet comes back: or the machine is off", "see the machine"));
      }
      return waits
          ? new MemberContact.Fault("it waits for a leader", MemberContact.ELECTION, false)
          : new MemberContact.Fault("192.0.2." + member.id() + ":7834: refused", "start it");
    }

    @Override
    public Set<String> living() {
      return living;
    }

    @Override
    public MemberContact.Start start() {
      asked++;
      return start;
    }

    private static EtcdMember member(int id) {
      return new EtcdMember(
          id,
          "node-" + id,
          List.of("https://192.0.2." + id + ":7834"),
          List.of("https://x"),
          false);
    }
  }

  private final FakeEtcd etcd = new FakeEtcd();
  private Instant now = Instant.parse("2026-11-27T03:00:00Z");
  private boolean serving = true;
  private long nanos;
  private final MemberContact contact =
      new MemberContact(etcd, () -> serving, () -> now, () -> nanos);

  private void figures(boolean leader, Set<String> active) {
    etcd.figures = Optional.of(new EtcdFigures(leader, active, 0, 0));
  }

  private void pass(Duration time) {
    now = now.plus(time);
    nanos += time.toNanos();
  }

  /** Looks now, and again after the patience. */
  private HealthCondition lookTwice() throws Exception {
    assertEquals(Optional.empty(), contact.look(), "at the first look");
    pass(Duration.ofSeconds(10));
    return contact.look().orElseThrow();
  }

  @Test
  @DisplayName("a member with a leader, all others and a usual disk has no fault")
  void well() throws Exception {
    assertEquals(Optional.empty(), contact.look());
    pass(Duration.ofMinutes(1));
    assertEquals(Optional.empty(), contact.look());
  }

  @Test
  @DisplayName("a port that etcd's clients cannot use makes the organ DOWN, although etcd runs")
  void ownPort() throws Exception {
    etcd.own = Optional.of(new MemberContact.Fault("no packet comes back", "remove the rule"));
    HealthCondition told = lookTwice();
    assertEquals("etcd-port-closed", told.code());
    assertEquals(HealthLevel.DOWN, told.level());
    assertEquals("remove the rule", told.remedy());
  }

  @Test
  @DisplayName("etcd without a leader is DOWN and names each member that does not answer")
  void noLeader() throws Exception {
    figures(false, Set.of("2", "3")); // a connection without packets seems to be open
    HealthCondition told = lookTwice();
    assertEquals("etcd-no-quorum", told.code());
    assertEquals(HealthLevel.DOWN, told.level());
    assertTrue(told.reason().contains("voters in contact: 1 of 3, and 2 must be"), told.reason());
    assertTrue(
        told.reason()
            .contains("no contact to node-2, 192.0.2.2:7834: refused; no contact to node-3"),
        told.reason());
    assertTrue(told.reason().contains("node-3"), told.reason());
    assertTrue(told.remedy().startsWith("start it; if most members are lost"), told.remedy());
  }

  @Test
  @DisplayName(
      "a member that alone does not reach the leader is cut off, and has not lost a quorum")
  void cutOff() throws Exception {
    etcd.reached = 2;
    figures(false, Set.of("2"));
    HealthCondition told = lookTwice();
    assertEquals("etcd-cut-off", told.code());
    assertTrue(
        told.reason().contains("node-3 (https://192.0.2.3:7834) leads, and node-2 reaches it"),
        told.reason());
    assertTrue(told.remedy().startsWith("nft list ruleset on both machines"), told.remedy());
  }

  @Test
  @DisplayName("a member that was added and never started is named, and counts for the quorum")
  void addedByHand() throws Exception {
    etcd.members =
        List.of(
            FakeEtcd.member(1),
            new EtcdMember(9, "", List.of("https://192.0.2.9:7834"), List.of(), false));
    figures(false, Set.of());
    HealthCondition told = lookTwice();
    assertTrue(
        told.reason()
            .endsWith(
                "voters in contact: 1 of 2, and 2 must be; the member at https://192.0.2.9:7834 was added to etcd and has never started"),
        told.reason());
    assertTrue(
        told.remedy().startsWith("start that member; if most members are lost for ever"),
        told.remedy());
  }

  @Test
  @DisplayName("etcd without a leader, beside members that wait for one, has lost none of them")
  void nobodyLost() throws Exception {
    etcd.waits = true;
    figures(false, Set.of());
    HealthCondition told = lookTwice();
    assertTrue(told.reason().contains("voters in contact: 3 of 3, and 2 must be"), told.reason());
    assertTrue(told.reason().contains("; node-2, it waits for a leader"), told.reason());
    assertEquals(MemberContact.ELECTION, told.remedy());
  }

  @Test
  @DisplayName("an election that ends within the patience is no fault")
  void election() throws Exception {
    figures(false, Set.of("2", "3"));
    assertEquals(Optional.empty(), contact.look());
    figures(true, Set.of("2", "3"));
    pass(Duration.ofSeconds(10));
    assertEquals(Optional.empty(), contact.look());
    figures(false, Set.of("2", "3"));
    assertEquals(Optional.empty(), contact.look());
  }

  @Test
  @DisplayName(
      "a member of three that etcd has never reached is named, with the number of voters that are left")
  void silent() throws Exception {
    figures(true, Set.of("2", "aaaa"));
    HealthCondition told = lookTwice();
    assertEquals("etcd-member-silent", told.code());
    assertEquals(HealthLevel.DEGRADED, told.level());
    assertTrue(
        told.reason().contains("without 1 of its members; voters in contact: 2 of 3"),
        told.reason());
    assertTrue(
        told.reason()
            .contains("no contact to node-3, since 2026-11-27T03:00:00Z: 192.0.2.3:7834: refused"),
        told.reason());
    assertEquals("start it", told.remedy());
  }

  @Test
  @DisplayName("a member whose node renews its lease is not off: the path to it is cut")
  void cutPair() throws Exception {
    etcd.unreached = true;
    etcd.living = Set.of("node-1", "node-2", "node-3");
    figures(true, Set.of("2"));
    assertTrue(lookTwice().reason().contains("the machine is off"), "its lease may be an old one");

    pass(Duration.ofSeconds(20));
    HealthCondition told = contact.look().orElseThrow();

    assertEquals("etcd-member-silent", told.code());
    assertTrue(
        told.reason()
            .contains(
                "no contact to node-3, since 2026-11-27T03:00:00Z: its node renews its lease in etcd"),
        told.reason());
    assertFalse(told.reason().contains("off"), told.reason());
    assertTrue(told.remedy().startsWith("nft list ruleset on both machines"), told.remedy());
  }

  @Test
  @DisplayName("a member without a lease may be off")
  void off() throws Exception {
    etcd.unreached = true;
    etcd.living = Set.of("node-1", "node-2");
    figures(true, Set.of("2"));
    lookTwice();
    pass(Duration.ofSeconds(20));
    HealthCondition told = contact.look().orElseThrow();
    assertTrue(told.reason().contains("the machine is off"), told.reason());
    assertEquals("see the machine", told.remedy());
  }

  @Test
  @DisplayName("other members are asked once a minute, and when etcd's own view has changed")
  void askedOnce() throws Exception {
    figures(true, Set.of("2"));
    for (int look = 0; look < 12; look++) {
      contact.look();
      pass(Duration.ofSeconds(5));
    }
    assertEquals(1, etcd.asked);
    contact.look();
    assertEquals(2, etcd.asked, "after a minute");
    figures(true, Set.of());
    contact.look();
    assertEquals(3, etcd.asked, "after a change");
  }

  @Test
  @DisplayName("the patience is not shortened by a clock that is set, or by a fault of long ago")
  void patience() throws Exception {
    figures(false, Set.of("2", "3"));
    assertEquals(Optional.empty(), contact.look());
    now = now.plus(Duration.ofHours(1)); // a time server has set it
    assertEquals(Optional.empty(), contact.look());
    etcd.figures = Optional.empty();
    assertEquals(Optional.empty(), contact.look());
    pass(Duration.ofHours(1));
    assertEquals(Optional.empty(), contact.look(), "the process reports this silence");
    figures(false, Set.of("2", "3"));
    assertEquals(Optional.empty(), contact.look());

    etcd.own = Optional.of(new MemberContact.Fault("no packet comes back", "remove the rule"));
    assertEquals("etcd-no-quorum", lookAfterPatience().code(), "the port has been closed just now");
    assertEquals("etcd-port-closed", lookAfterPatience().code());
    etcd.own = Optional.empty();
    assertEquals(Optional.empty(), contact.look());
  }

  private HealthCondition lookAfterPatience() throws Exception {
    pass(Duration.ofSeconds(10));
    return contact.look().orElseThrow();
  }

  @Test
  @DisplayName("a start waits for the members that it cannot reach, and names them")
  void starting() throws Exception {
    serving = false;
    etcd.figures = Optional.of(new EtcdFigures(false, Set.of(), 0, 0));
    etcd.start =
        new MemberContact.Start(
            2, List.of(new MemberContact.Fault("node-2 at 192.0.2.2:7834: no packet", "look")));
    HealthCondition told = lookTwice();
    assertEquals("etcd-no-quorum", told.code());
    assertEquals(HealthLevel.WAITING, told.level());
    assertTrue(told.reason().contains("node-2 at 192.0.2.2:7834: no packet"), told.reason());
    assertTrue(told.remedy().startsWith("look; if most members are lost"), told.remedy());
  }

  @Test
  @DisplayName(
      "a start that reaches enough members has not lost its cluster, however long it takes")
  void slowStart() throws Exception {
    serving = false;
    etcd.figures = Optional.empty();
    etcd.start =
        new MemberContact.Start(
            3, List.of(new MemberContact.Fault("node-2 at 192.0.2.2:7834: refused", "start it")));
    assertEquals(Optional.empty(), contact.look());
    pass(Duration.ofSeconds(10));
    assertEquals(Optional.empty(), contact.look());
  }

  @Test
  @DisplayName("a disk that was slow during the last checks is named with the figure")
  void disk() throws Exception {
    assertEquals(Optional.empty(), contact.look());
    etcd.figures = Optional.of(new EtcdFigures(true, Set.of("2", "3"), 10, 9));
    HealthCondition told = contact.look().orElseThrow();
    assertEquals("etcd-disk-slow", told.code());
    assertTrue(told.reason().contains("0.90 s"), told.reason());

    pass(Duration.ofHours(1));
    assertEquals(Optional.empty(), contact.look(), "pages of an hour ago are no measure");
  }

  @Test
  @DisplayName(
      "a disk that ends no write is the root, also if the other members have elected another leader")
  void frozenDisk() throws Exception {
    etcd.reached = 2;
    etcd.stuck = Optional.of("a thread of it waits for a device or a file system (state D)");
    figures(false, Set.of("2"));
    HealthCondition told = lookTwice();
    assertEquals("etcd-disk-hangs", told.code());
    assertEquals(HealthLevel.DOWN, told.level());
    assertTrue(told.reason().contains("(state D)"), told.reason());
    assertTrue(told.remedy().contains("fsfreeze --unfreeze"), told.remedy());
  }

  @Test
  @DisplayName("a busy disk that ends writes between the looks does not hang")
  void busyDisk() throws Exception {
    etcd.stuck = Optional.of("a thread of it waits for a device or a file system (state D)");
    for (int look = 1; look < 10; look++) {
      etcd.figures = Optional.of(new EtcdFigures(true, Set.of("2", "3"), look, look * 0.1));
      assertEquals(Optional.empty(), contact.look());
      pass(Duration.ofSeconds(5));
    }
  }
}
