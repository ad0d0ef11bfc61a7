package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdHold;
import java.util.List;

/**
 * Makes each user's access to a member that has served. It survives restarts of etcd.
 *
 * @param pki issues the identities of users
 * @param endpoint the local member
 * @param member its description
 */
record MemberAccess(ConsensusPki pki, EtcdEndpoint endpoint, ConsensusMember member) {

  /** Returns the access of a user, limited to the user's namespace. */
  EtcdAccess access(ConsensusUser user) {
    return access(user, new EtcdAccess.MutualTls(() -> pki.user(user)), EtcdHold.NONE);
  }

  /** Returns the access of a user that another organ has. */
  EtcdAccess access(ConsensusUser user, UserIdentities identities) {
    return access(user, new EtcdAccess.MutualTls(identities.of(user, pki)), identities.hold());
  }

  private EtcdAccess access(ConsensusUser user, EtcdAccess.MutualTls identity, EtcdHold hold) {
    return new EtcdAccess(List.of(endpoint), identity, user.namespace(), hold);
  }

  /** Returns the status of the running member without alarms. */
  ConsensusStatus.Running running() {
    return running(List.of());
  }

  /** Returns the status of the running member. */
  ConsensusStatus.Running running(List<String> alarms) {
    return new ConsensusStatus.Running(
        member.name(), member.id(), member.clusterId(), member.clientUrls(), alarms);
  }
}
