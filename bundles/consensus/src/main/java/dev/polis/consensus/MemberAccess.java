package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdEndpoint;
import java.util.List;

/**
 * Makes access to the member for each user, once it has served. It outlives restarts of etcd.
 *
 * @param pki issues the identities of users
 * @param endpoint the local member
 * @param member its description
 */
record MemberAccess(ConsensusPki pki, EtcdEndpoint endpoint, ConsensusMember member) {

  EtcdAccess access(ConsensusUser user) {
    return new EtcdAccess(
        List.of(endpoint), new EtcdAccess.MutualTls(pki.user(user)), user.namespace());
  }

  ConsensusStatus.Running running(List<String> alarms) {
    return new ConsensusStatus.Running(
        member.name(), member.id(), member.clusterId(), member.clientUrls(), alarms);
  }
}
