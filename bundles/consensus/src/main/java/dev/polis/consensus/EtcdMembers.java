package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdRefusedException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Reads and changes the list of members through the local member. */
final class EtcdMembers implements MemberChanges.Members {

  /** The time for an answer of a member that is up, which takes milliseconds. */
  private static final Duration UP = Duration.ofSeconds(2);

  private final EtcdAdmin admin;

  EtcdMembers(EtcdAdmin admin) {
    this.admin = admin;
  }

  @Override
  public List<EtcdMember> list() throws InterruptedException {
    return admin.members();
  }

  @Override
  public EtcdMember addLearner(String peerUrl) throws InterruptedException {
    return admin.addLearner(List.of(peerUrl));
  }

  @Override
  public boolean promote(long memberId) throws InterruptedException {
    try {
      admin.promote(memberId);
      return true;
    } catch (EtcdRefusedException lagging) {
      return false;
    }
  }

  @Override
  public void move(long memberId, String peerUrl) throws InterruptedException {
    admin.updatePeerUrls(memberId, List.of(peerUrl));
  }

  @Override
  public void remove(long memberId) throws InterruptedException {
    admin.remove(memberId);
  }

  /**
   * Asks each voter whether it is up.
   *
   * @param root root's access, by which each voter answers
   */
  List<ConsensusVoter> voters(EtcdAccess root) throws InterruptedException {
    List<ConsensusVoter> voters = new ArrayList<>();
    for (EtcdMember member : admin.members()) {
      if (!member.learner()) {
        voters.add(new ConsensusVoter(member.name(), isUp(root, member)));
      }
    }
    voters.sort(Comparator.comparing(ConsensusVoter::name));
    return List.copyOf(voters);
  }

  private static boolean isUp(EtcdAccess root, EtcdMember member) throws InterruptedException {
    for (String url : member.clientUrls()) {
      URI address = URI.create(url);
      EtcdEndpoint endpoint =
          EtcdEndpoint.of(address.getHost() + ":" + address.getPort()).named(member.name());
      try (EtcdClient client = EtcdClient.connect(root.through(List.of(endpoint)))) {
        client.admin().status(endpoint, UP);
        return true;
      } catch (EtcdException silent) {
        // The next address may answer; a member that answers at none is down.
        continue;
      }
    }
    return false;
  }
}
