package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.etcd.EtcdMember;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.NodeId;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Changes the members of etcd, one step at each call. Each step begins with etcd's own list, so a
 * repeated call continues after any crash of either side.
 *
 * <p>An id of a member is never used again: if a node has lost the data of its member, the member
 * goes and another learner comes. A member that began again without its data could vote twice.
 */
final class MemberChanges {

  /** Reads and changes etcd's list of members. */
  interface Members {
    List<EtcdMember> list() throws InterruptedException;

    EtcdMember addLearner(String peerUrl) throws InterruptedException;

    /** Gives a learner its vote; returns false if it lags too far behind. */
    boolean promote(long memberId) throws InterruptedException;

    void move(long memberId, String peerUrl) throws InterruptedException;

    void remove(long memberId) throws InterruptedException;
  }

  private final Members members;
  private final CertificateAuthority authority;
  private final boolean succeeded;
  private final String clusterId;
  private final Set<Long> emptied;

  /**
   * @param authority the CA of etcd, which an invited node gets
   * @param succeeded true while members learn to trust its successor
   * @param clusterId the id of the etcd cluster in hexadecimal
   * @param emptied the started members whose nodes have reported once that they have no data
   */
  MemberChanges(
      Members members,
      CertificateAuthority authority,
      boolean succeeded,
      String clusterId,
      Set<Long> emptied) {
    this.members = members;
    this.authority = authority;
    this.succeeded = succeeded;
    this.clusterId = clusterId;
    this.emptied = emptied;
  }

  /** Brings a node one step closer to a vote. */
  ConsensusStanding admit(NodeId node, ConsensusCandidate candidate) throws InterruptedException {
    List<EtcdMember> present = members.list();
    Optional<EtcdMember> own =
        present.stream().filter(member -> isOf(member, node, candidate)).findFirst();
    if (candidate.memberId().isEmpty()) {
      return new ConsensusStanding.Invited(invite(node, candidate, present, own));
    }
    if (own.filter(member -> member.hexId().equals(candidate.memberId())).isEmpty()) {
      return new ConsensusStanding.Removed();
    }
    emptied.remove(own.get().id());
    return promote(own.get(), candidate);
  }

  private static boolean isOf(EtcdMember member, NodeId node, ConsensusCandidate candidate) {
    return member.hasStarted()
        ? member.name().equals(node.text())
        : member.peerUrls().contains(candidate.peerUrl());
  }

  private ConsensusInvitation invite(
      NodeId node, ConsensusCandidate candidate, List<EtcdMember> present, Optional<EtcdMember> own)
      throws InterruptedException {
    if (own.isPresent() && !own.get().hasStarted()) {
      return invitation(own.get(), present);
    }
    List<EtcdMember> others = present;
    if (own.isPresent()) {
      requireEmptied(node, own.get());
      members.remove(own.get().id());
      others = members.list();
    }
    requirePlace(node, candidate, others);
    if (succeeded) {
      // It would trust only the CA that another is about to replace.
      throw new ConsensusException(
          "%s waits until each member of etcd trusts its new CA; continue its rotation: polisctl ca rotate --of etcd"
              .formatted(node));
    }
    EtcdMember added = members.addLearner(candidate.peerUrl());
    return invitation(added, members.list());
  }

  /**
   * Requires a second report that a node has no data of a started member any more. The first one
   * may be older than the start, which can be between the report and its arrival.
   */
  private void requireEmptied(NodeId node, EtcdMember own) {
    if (emptied.add(own.id())) {
      throw new ConsensusException(
          "%s reports no data of member %s, which has started; its next report decides whether the member goes"
              .formatted(node, own.hexId()));
    }
    emptied.remove(own.id());
  }

  private static void requirePlace(
      NodeId node, ConsensusCandidate candidate, List<EtcdMember> others) {
    for (EtcdMember other : others) {
      if (other.learner()) {
        throw new ConsensusException(
            "%s waits, because only one node at a time can join etcd, and %s joins now; if that node does not come back, take its role away: polisctl node role remove NODE ConsensusMember"
                .formatted(node, describe(other)));
      }
      if (other.peerUrls().contains(candidate.peerUrl())) {
        throw new ConsensusException(
            "%s cannot join etcd with the URL %s, which %s has; give the node another --address"
                .formatted(node, candidate.peerUrl(), describe(other)));
      }
    }
  }

  private static String describe(EtcdMember member) {
    return member.hasStarted() ? member.name() : "the node at " + member.peerUrls().getFirst();
  }

  private ConsensusInvitation invitation(EtcdMember invited, List<EtcdMember> present) {
    return new ConsensusInvitation(
        invited.hexId(),
        clusterId,
        present.stream()
            .filter(member -> member.id() != invited.id())
            .flatMap(member -> member.peerUrls().stream().map(url -> member.name() + "=" + url))
            .toList(),
        authority.certificate(),
        authority.privateKey());
  }

  private ConsensusStanding promote(EtcdMember own, ConsensusCandidate candidate)
      throws InterruptedException {
    if (!own.learner()) {
      return new ConsensusStanding.Voter();
    }
    if (!own.peerUrls().equals(List.of(candidate.peerUrl()))) {
      // A voter publishes its address itself; a learner cannot.
      members.move(own.id(), candidate.peerUrl());
    }
    return members.promote(own.id())
        ? new ConsensusStanding.Voter()
        : new ConsensusStanding.Learner();
  }

  /** Removes a member, if etcd knows it. */
  void expel(String memberId) throws InterruptedException {
    Optional<EtcdMember> known =
        members.list().stream().filter(member -> member.hexId().equals(memberId)).findFirst();
    if (known.isPresent()) {
      members.remove(known.get().id());
    }
  }
}
