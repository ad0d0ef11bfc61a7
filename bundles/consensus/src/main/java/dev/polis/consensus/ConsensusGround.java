package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdEndpoint;
import java.util.List;

/**
 * What access stands on, once a member has served: it outlives restarts of etcd.
 *
 * @param pki identities of users
 * @param endpoint the local member
 * @param member what it is
 */
record ConsensusGround(ConsensusPki pki, EtcdEndpoint endpoint, ConsensusMember member) {

  EtcdAccess access(ConsensusUser user) {
    return new EtcdAccess(
        List.of(endpoint), new EtcdAccess.MutualTls(pki.user(user)), user.namespace());
  }

  ConsensusStatus.Running running(List<String> alarms) {
    return new ConsensusStatus.Running(
        member.name(), member.id(), member.clusterId(), member.clientUrls(), alarms);
  }
}
