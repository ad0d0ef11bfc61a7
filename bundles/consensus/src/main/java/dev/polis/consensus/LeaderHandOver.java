package dev.polis.consensus;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdHold;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.Lease;
import dev.polis.logtree.Log;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Makes another member the leader before etcd ends, which saves an election. All members hold the
 * writes of their organs meanwhile: a leader that hands over drops the writes that others send it,
 * and they learn that after six seconds.
 */
final class LeaderHandOver {

  /**
   * The time for the answers to writes under way, which take milliseconds with a quorum. Others get
   * no more, since one whose node ends too does not answer.
   */
  static final Duration ANSWER = Duration.ofSeconds(2);

  /** The time after which others write again if this node is lost; their calls wait for longer. */
  private static final Duration LEASE = Duration.ofSeconds(5);

  private LeaderHandOver() {}

  /**
   * Makes another member that is up the leader, if the local one leads; the end of etcd does not
   * depend on it. Afterwards the local member still holds writes.
   */
  static void run(MemberAccess access, EtcdHold hold, Log log) throws InterruptedException {
    EtcdAccess root = access.access(ConsensusUser.ROOT);
    try {
      MemberSurvey survey = MemberSurvey.of(root);
      Optional<EtcdMember> heir = survey.heir();
      if (heir.isPresent()) {
        try (EtcdClient client = EtcdClient.connect(root);
            Lease lease = client.leases().grant(LEASE)) {
          Set<String> others = survey.othersUp().map(EtcdMember::hexId).collect(Collectors.toSet());
          if (!new EtcdAuthority(client).askToHold(lease, others, ANSWER)) {
            log.warning(
                "the leadership of etcd moves though not all of %s hold their writes; the outcome of some may be unknown",
                others);
          }
          hold(hold, log);
          client.admin().moveLeader(access.endpoint(), heir.get().id());
        }
        log.info("handed the leadership of etcd to %s", heir.get().name());
      }
    } catch (EtcdException refused) {
      log.warning("etcd stops without handing over its leadership: %s", refused.getMessage());
    }
  }

  /**
   * Holds the writes of this member's organs, since the end of etcd would leave them unanswered.
   */
  static void hold(EtcdHold hold, Log log) throws InterruptedException {
    if (!hold.hold(ANSWER)) {
      log.warning(
          "etcd stops though writes had no answer within %d s; their outcome is unknown",
          ANSWER.toSeconds());
    }
  }
}
