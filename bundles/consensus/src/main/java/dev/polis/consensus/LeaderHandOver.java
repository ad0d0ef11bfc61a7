package dev.polis.consensus;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.logtree.Log;
import java.util.Optional;

/** Makes another member the leader before etcd ends, which saves an election. */
final class LeaderHandOver {

  private LeaderHandOver() {}

  /**
   * Makes another member that is up the leader, if the local one leads; the end of etcd does not
   * depend on it.
   */
  static void run(MemberAccess access, Log log) throws InterruptedException {
    EtcdAccess root = access.access(ConsensusUser.ROOT);
    try {
      Optional<EtcdMember> heir = MemberSurvey.of(root).heir();
      if (heir.isPresent()) {
        try (EtcdClient client = EtcdClient.connect(root)) {
          client.admin().moveLeader(access.endpoint(), heir.get().id());
        }
        log.info("handed the leadership of etcd to %s", heir.get().name());
      }
    } catch (EtcdException refused) {
      log.warning("etcd stops without handing over its leadership: %s", refused.getMessage());
    }
  }
}
