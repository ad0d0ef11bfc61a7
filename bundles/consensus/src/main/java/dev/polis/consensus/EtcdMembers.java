package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdError;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdRefusedException;
import dev.polis.etcd.EtcdStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Reads and changes the list of members through the local member. */
final class EtcdMembers implements MemberChanges.Members {

  /** The time for an answer of a member that is up, which takes milliseconds. */
  private static final Duration UP = Duration.ofSeconds(2);

  private final EtcdAdmin admin;
  private final EtcdAccess root;
  private final MemberState state;

  /**
   * @param root root's access, by which each member answers
   * @param state that of the local member
   */
  EtcdMembers(EtcdAdmin admin, EtcdAccess root, MemberState state) {
    this.admin = admin;
    this.root = root;
    this.state = state;
  }

  @Override
  public List<EtcdMember> list() throws InterruptedException {
    return admin.members();
  }

  @Override
  public EtcdMember addLearner(String peerUrl) throws InterruptedException {
    state.requireHeartbeatOfSeveral();
    try {
      return admin.addLearner(List.of(peerUrl));
    } catch (EtcdRefusedException refused) {
      if (refused.error() == EtcdError.UNHEALTHY) {
        throw new ConsensusException(
            "etcd takes another member once this node has been connected to each voter for 5 s; a voter that is off comes back or loses its role first",
            refused);
      }
      throw refused;
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Only etcd's leader knows how far a learner is. Another member asks the leader without the
   * name of the user, so with authentication each promotion fails there (etcd issue 20757).
   */
  @Override
  public boolean promote(long memberId) throws InterruptedException {
    EtcdStatus own = admin.status(admin.endpoints().getFirst());
    if (own.isLeader()) {
      return promote(admin, memberId);
    }
    for (EtcdMember member : admin.members()) {
      if (member.id() == own.leaderId() && !member.clientUrls().isEmpty()) {
        try (EtcdClient leader = connect(member, member.clientUrls().getFirst())) {
          return promote(leader.admin(), memberId);
        }
      }
    }
    return false; // without a leader no learner gets a vote
  }

  private static boolean promote(EtcdAdmin at, long memberId) throws InterruptedException {
    try {
      at.promote(memberId);
      return true;
    } catch (EtcdRefusedException refused) {
      if (refused.error() == EtcdError.NOT_IN_SYNC) {
        return false;
      }
      throw refused;
    }
  }

  /**
   * Returns the other members, each as {@code NAME=URL}, in an order that stays the same.
   *
   * @param own the id of the local member
   */
  static List<String> others(List<EtcdMember> members, long own) {
    return members.stream()
        .filter(member -> member.id() != own)
        .flatMap(member -> member.peerUrls().stream().map(url -> member.name() + "=" + url))
        .sorted()
        .toList();
  }

  private EtcdClient connect(EtcdMember member, String url) {
    return EtcdClient.connect(
        root.through(List.of(MemberSurvey.endpoint(url).named(member.name()))));
  }

  @Override
  public void move(long memberId, String peerUrl) throws InterruptedException {
    admin.updatePeerUrls(memberId, List.of(peerUrl));
  }

  @Override
  public void remove(long memberId) throws InterruptedException {
    admin.remove(memberId);
  }

  /** Asks each voter whether it is up. */
  List<ConsensusVoter> voters() throws InterruptedException {
    List<ConsensusVoter> voters = new ArrayList<>();
    for (EtcdMember member : admin.members()) {
      if (!member.learner()) {
        voters.add(new ConsensusVoter(member.name(), isUp(member)));
      }
    }
    voters.sort(Comparator.comparing(ConsensusVoter::name));
    return List.copyOf(voters);
  }

  private boolean isUp(EtcdMember member) throws InterruptedException {
    for (String url : member.clientUrls()) {
      try (EtcdClient client = connect(member, url)) {
        client.admin().status(client.admin().endpoints().getFirst(), UP);
        return true;
      } catch (EtcdException silent) {
        // The next address may answer; a member that answers at none is down.
        continue;
      }
    }
    return false;
  }
}
