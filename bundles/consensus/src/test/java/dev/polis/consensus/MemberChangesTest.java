package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.etcd.EtcdMember;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.NodeId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Leads nodes into etcd and out of it, with a list of members in memory. */
class MemberChangesTest {

  private static final NodeId LEADER = NodeId.parse(NodeId.PREFIX + "0".repeat(31) + "1");
  private static final NodeId NODE = NodeId.parse(NodeId.PREFIX + "0".repeat(31) + "2");
  private static final NodeId OTHER = NodeId.parse(NodeId.PREFIX + "0".repeat(31) + "3");
  private static final String URL = "https://127.0.0.2:7834";
  private static final String OTHER_URL = "https://127.0.0.3:7834";

  private final Members etcd = new Members();
  private final MemberChanges changes =
      new MemberChanges(etcd, CertificateAuthority.create("a CA"), false, "c1", new HashSet<>());

  /** Keeps the list of members that etcd would keep. */
  private static final class Members implements MemberChanges.Members {
    final List<EtcdMember> list =
        new ArrayList<>(List.of(member(1, LEADER.text(), "https://127.0.0.1:7834", false)));
    boolean caughtUp;
    private long lastId = 1;

    private static EtcdMember member(long id, String name, String url, boolean learner) {
      return new EtcdMember(id, name, List.of(url), List.of(), learner);
    }

    @Override
    public List<EtcdMember> list() {
      return List.copyOf(list);
    }

    @Override
    public EtcdMember addLearner(String peerUrl) {
      EtcdMember added = member(++lastId, "", peerUrl, true);
      list.add(added);
      return added;
    }

    @Override
    public boolean promote(long memberId) {
      if (caughtUp) {
        replace(memberId, found(memberId).name(), found(memberId).peerUrls().getFirst(), false);
      }
      return caughtUp;
    }

    @Override
    public void move(long memberId, String peerUrl) {
      replace(memberId, found(memberId).name(), peerUrl, found(memberId).learner());
    }

    @Override
    public void remove(long memberId) {
      list.removeIf(member -> member.id() == memberId);
    }

    /** Gives a member the name with which its etcd has started. */
    void start(String memberId, NodeId node) {
      long id = Long.parseUnsignedLong(memberId, 16);
      replace(id, node.text(), found(id).peerUrls().getFirst(), found(id).learner());
    }

    private void replace(long id, String name, String url, boolean learner) {
      list.replaceAll(member -> member.id() == id ? member(id, name, url, learner) : member);
    }

    EtcdMember found(long id) {
      return list.stream().filter(member -> member.id() == id).findFirst().orElseThrow();
    }
  }

  private ConsensusInvitation invited(NodeId node, String url) throws Exception {
    return assertInstanceOf(
            ConsensusStanding.Invited.class, changes.admit(node, new ConsensusCandidate(url, "")))
        .invitation();
  }

  private ConsensusStanding asks(String memberId) throws Exception {
    return changes.admit(NODE, new ConsensusCandidate(URL, memberId));
  }

  @Test
  @DisplayName("CON-04 a node is invited, waits as a learner until it has caught up, and votes")
  void con04_intoEtcd() throws Exception {
    ConsensusInvitation invitation = invited(NODE, URL);
    assertEquals("c1", invitation.clusterId());
    assertEquals(List.of(LEADER.text() + "=https://127.0.0.1:7834"), invitation.others());
    assertTrue(etcd.list.getLast().learner(), "it votes before it has the data");

    etcd.start(invitation.memberId(), NODE);
    assertInstanceOf(ConsensusStanding.Learner.class, asks(invitation.memberId()));
    etcd.caughtUp = true;
    assertInstanceOf(ConsensusStanding.Voter.class, asks(invitation.memberId()));
    assertInstanceOf(ConsensusStanding.Voter.class, asks(invitation.memberId()), "repeated");
    assertEquals(2, etcd.list.size());
  }

  @Test
  @DisplayName("CON-04 an invitation that got lost, with its node or its leader, is given again")
  void con04_lostInvitation() throws Exception {
    ConsensusInvitation lost = invited(NODE, URL);

    assertEquals(lost, invited(NODE, URL));
    assertEquals(2, etcd.list.size());
  }

  @Test
  @DisplayName("CON-04 a learner whose node has moved gets its votes at the new address")
  void con04_movedLearner() throws Exception {
    String id = invited(NODE, URL).memberId();
    etcd.start(id, NODE);

    changes.admit(NODE, new ConsensusCandidate(OTHER_URL, id));

    assertEquals(List.of(OTHER_URL), etcd.list.getLast().peerUrls());
  }

  @Test
  @DisplayName("D-13 the data of a member that etcd has removed do not come back")
  void d13_staleData() throws Exception {
    assertInstanceOf(ConsensusStanding.Removed.class, asks("abc"), "etcd knows no such member");
    String id = invited(NODE, URL).memberId();
    assertInstanceOf(ConsensusStanding.Removed.class, asks("abc"), "another member has its place");
    assertEquals(id, invited(NODE, URL).memberId());
  }

  @Test
  @DisplayName("D-13 a member whose node has lost its data goes, and another learner comes")
  void d13_lostData() throws Exception {
    String before = invited(NODE, URL).memberId();
    etcd.start(before, NODE);
    etcd.caughtUp = true;
    asks(before);

    assertThrows(ConsensusException.class, () -> asks(""));
    String after = invited(NODE, URL).memberId();

    assertNotEquals(before, after);
    assertEquals(2, etcd.list.size());
    assertTrue(etcd.list.getLast().learner());
  }

  @Test
  @DisplayName("CON-04 a report from before the start of a member does not remove it")
  void con04_reportBeforeStart() throws Exception {
    String id = invited(NODE, URL).memberId();
    etcd.start(id, NODE);
    for (int report = 0; report < 2; report++) {
      ConsensusException old = assertThrows(ConsensusException.class, () -> asks(""));
      assertTrue(old.getMessage().contains("reports no data of member " + id), old::getMessage);
      assertInstanceOf(ConsensusStanding.Learner.class, asks(id));
    }
    assertEquals(2, etcd.list.size());
  }

  @Test
  @DisplayName("D-34 a second learner waits, and the refusal says for which node")
  void d34_oneAtATime() throws Exception {
    String id = invited(OTHER, OTHER_URL).memberId();
    ConsensusException byAddress =
        assertThrows(ConsensusException.class, () -> invited(NODE, URL), "two learners");
    assertTrue(byAddress.getMessage().contains(OTHER_URL), byAddress.getMessage());
    etcd.start(id, OTHER);
    ConsensusException byName = assertThrows(ConsensusException.class, () -> invited(NODE, URL));
    assertTrue(byName.getMessage().contains(OTHER.text()), byName.getMessage());
    assertEquals(2, etcd.list.size());
  }

  @Test
  @DisplayName("CON-04 a node with the address of another member is refused")
  void con04_takenAddress() {
    ConsensusException refused =
        assertThrows(ConsensusException.class, () -> invited(NODE, "https://127.0.0.1:7834"));
    assertTrue(refused.getMessage().contains(LEADER.text()), refused.getMessage());
    assertEquals(1, etcd.list.size());
  }

  @Test
  @DisplayName("a member is removed once, and the removal may be repeated")
  void expel() throws Exception {
    String id = invited(NODE, URL).memberId();
    changes.expel(id);
    changes.expel(id);
    assertEquals(1, etcd.list.size());
  }
}
