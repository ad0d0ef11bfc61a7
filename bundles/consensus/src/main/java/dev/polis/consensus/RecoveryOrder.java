package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusRecord.Stage;
import java.nio.file.Path;

/**
 * Orders a new cluster of the local member alone, because the other members of its cluster are lost
 * for ever. The order names the lost cluster; the new one has another id, so an order that is still
 * there at a later start does nothing.
 *
 * @param cluster the id of the lost cluster in hexadecimal; empty for no order
 * @param snapshot the path of a snapshot with the records; empty to keep the member's own
 */
record RecoveryOrder(String cluster, String snapshot) {

  static final RecoveryOrder NONE = new RecoveryOrder("", "");

  /** Returns whether the member of a record is still to become the only one of a new cluster. */
  boolean wants(ConsensusRecord record) {
    return record.stage() == Stage.MEMBER && record.clusterId().equals(cluster);
  }

  /**
   * Refuses an order that names another cluster than that of the member.
   *
   * @param file the file of the record
   */
  void requireFits(ConsensusRecord record, Path file) {
    boolean fits =
        cluster.isEmpty()
            || record.former().contains(cluster)
            || record.clusterId().equals(cluster) && record.stage() != Stage.LEARNER;
    if (!fits) {
      throw new ConsensusException(
          record.stage() == Stage.MEMBER
              ? "the order of a new cluster names cluster %s, but this node's member belongs to cluster %s, as %s says; if the other members of that cluster are lost for ever, order it with its id: ./polis up --force-new-cluster %s"
                  .formatted(cluster, record.clusterId(), file, record.clusterId())
              : "the order of a new cluster names cluster %s, but this node's member has no vote yet, as %s says; recover the cluster on a node that had a vote"
                  .formatted(cluster, file));
    }
  }
}
