package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
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

  /** Answers as it is told. */
  private static final class FakeEtcd implements MemberContact.Etcd {
    Optional<EtcdFigures> figures = Optional.of(new EtcdFigures(true, Set.of(), 0, 0));
    Optional<MemberContact.Fault> own = Optional.empty();
    List<MemberContact.Fault> unreached = List.of();

    @Override
    public Optional<EtcdFigures> figures() {
      return figures;
    }

    @Override
    public Optional<MemberContact.Fault> ownPort() {
      return own;
    }

    @Override
    public List<EtcdMember> members() {
      return List.of(member(1), member(2), member(3));
    }

    @Override
    public Optional<MemberContact.Fault> ask(EtcdMember member) {
      return member.id() == 1
          ? Optional.empty()
          : Optional.of(
              new MemberContact.Fault("192.0.2." + member.id() + ":7834: refused", "start it"));
    }

    @Override
    public List<MemberContact.Fault> unreached() {
      return unreached;
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
  private final MemberContact contact = new MemberContact(etcd, () -> serving, () -> now);

  private void figures(boolean leader, Set<String> silent) {
    etcd.figures = Optional.of(new EtcdFigures(leader, silent, 0, 0));
  }

  /** Looks now, and again after the patience. */
  private HealthCondition lookTwice() throws Exception {
    assertEquals(Optional.empty(), contact.look(), "at the first look");
    now = now.plus(Duration.ofSeconds(10));
    return contact.look().orElseThrow();
  }

  @Test
  @DisplayName("a member with a leader, all others and a usual disk has no fault")
  void well() throws Exception {
    assertEquals(Optional.empty(), contact.look());
    now = now.plus(Duration.ofMinutes(1));
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
    figures(false, Set.of("2")); // a connection without packets seems to be open
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
  @DisplayName("an election that ends within the patience is no fault")
  void election() throws Exception {
    figures(false, Set.of());
    assertEquals(Optional.empty(), contact.look());
    figures(true, Set.of());
    now = now.plus(Duration.ofSeconds(10));
    assertEquals(Optional.empty(), contact.look());
    figures(false, Set.of());
    assertEquals(Optional.empty(), contact.look());
  }

  @Test
  @DisplayName("a silent member of three is named, with the number of voters that are left")
  void silent() throws Exception {
    figures(true, Set.of("3", "aaaa"));
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
  @DisplayName("a start waits for the members that it cannot reach, and names them")
  void starting() throws Exception {
    serving = false;
    etcd.figures = Optional.empty();
    etcd.unreached =
        List.of(new MemberContact.Fault("node-2 at 192.0.2.2:7834: no packet", "look there"));
    HealthCondition told = lookTwice();
    assertEquals("etcd-no-quorum", told.code());
    assertEquals(HealthLevel.WAITING, told.level());
    assertTrue(told.reason().contains("node-2 at 192.0.2.2:7834: no packet"), told.reason());
  }

  @Test
  @DisplayName("a disk that was slow during the last checks is named with the figure")
  void disk() throws Exception {
    assertEquals(Optional.empty(), contact.look());
    etcd.figures = Optional.of(new EtcdFigures(true, Set.of(), 10, 9));
    HealthCondition told = contact.look().orElseThrow();
    assertEquals("etcd-disk-slow", told.code());
    assertTrue(told.reason().contains("0.90 s"), told.reason());
  }
}
