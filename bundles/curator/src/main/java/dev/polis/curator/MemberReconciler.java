package dev.polis.curator;

import dev.polis.curator.api.ConsensusMembers;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.Context;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Removes members of etcd whose nodes have lost the role and did not leave by themselves, while
 * this node leads.
 */
final class MemberReconciler {

  /** A node that is up leaves within a second; the place of one that is off is not urgent. */
  private static final Duration PACE = Duration.ofSeconds(5);

  /** The looks at unchanged records before etcd's list is read again. */
  private static final int UNCHANGED = 12;

  private final LeaderGate gate;
  private final ConsensusMembers members;
  private final NodeId self;
  private Set<String> settled = Set.of();
  private int unchanged;

  MemberReconciler(LeaderGate gate, ConsensusMembers members, NodeId self) {
    this.gate = gate;
    this.members = members;
    this.self = self;
  }

  void run(Context context) throws InterruptedException {
    context.healthy();
    while (true) {
      Thread.sleep(PACE);
      Optional<RecordSnapshot> records = gate.atOnce(term -> term.records().readAtOnce());
      if (records.isPresent()) {
        look(records.get(), context.log());
      } else {
        settled = Set.of();
      }
    }
  }

  private void look(RecordSnapshot records, Log log) throws InterruptedException {
    Set<String> wanted = ConsensusMembers.wanted(records);
    if (wanted.isEmpty() || (wanted.equals(settled) && ++unchanged < UNCHANGED)) {
      return;
    }
    unchanged = 0;
    try {
      settled = members.reconcile(records, self) ? wanted : Set.of();
    } catch (RpcException notNow) {
      settled = Set.of();
      log.warning("etcd keeps a member without a role for now: %s", notNow.getMessage());
    }
  }
}
