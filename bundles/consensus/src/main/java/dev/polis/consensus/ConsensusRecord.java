package dev.polis.consensus;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Records the owner of the member on this disk and its progress, from a bootstrap or an invitation
 * to a vote.
 *
 * @param node the owning node
 * @param stage the progress
 * @param memberId its id in hexadecimal; empty while BOOTSTRAPPING
 * @param clusterId its cluster's id in hexadecimal; empty while BOOTSTRAPPING
 * @param alone true if its cluster had no other member at the last check; a record of an earlier
 *     version counts as one of several members
 * @param users the users and roles in etcd at the last check; empty if unknown
 * @param others the other members at its invitation, each as {@code NAME=URL}; empty for the first
 *     member of a cluster
 */
record ConsensusRecord(
    String node,
    Stage stage,
    String memberId,
    String clusterId,
    boolean alone,
    String users,
    List<String> others) {

  /** Sets no users and no others in a record of an earlier version, which lacks them. */
  ConsensusRecord {
    users = users == null ? "" : users;
    others = others == null ? List.of() : List.copyOf(others);
  }

  /** Lists the stages of a member. */
  enum Stage {
    /** The creation of a new cluster is running, and an empty data directory is allowed. */
    BOOTSTRAPPING,
    /** The member is a learner of an existing cluster, and has no vote yet. */
    LEARNER,
    /** The member is complete, and an empty data directory is a loss of data. */
    MEMBER
  }

  private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

  static ConsensusRecord bootstrapping(String node) {
    return new ConsensusRecord(node, Stage.BOOTSTRAPPING, "", "", true, "", List.of());
  }

  static ConsensusRecord learner(
      String node, String memberId, String clusterId, List<String> others) {
    return new ConsensusRecord(node, Stage.LEARNER, memberId, clusterId, false, "", others);
  }

  /** Returns whether this record belongs to that member of that cluster. */
  boolean isOf(String otherMember, String otherCluster) {
    return memberId.equals(otherMember) && clusterId.equals(otherCluster);
  }

  ConsensusRecord complete(String memberId, String clusterId) {
    return new ConsensusRecord(node, Stage.MEMBER, memberId, clusterId, alone, users, others);
  }

  /** Returns the same record with the users and roles that etcd has now. */
  ConsensusRecord withUsers(String present) {
    return new ConsensusRecord(node, stage, memberId, clusterId, alone, present, others);
  }

  /** Returns the same record, with or without the mark of a single member. */
  ConsensusRecord withAlone(boolean now) {
    return new ConsensusRecord(node, stage, memberId, clusterId, now, users, others);
  }

  static Stored<ConsensusRecord> read(FilePlacement file) {
    return file.read().map(bytes -> parse(new String(bytes, StandardCharsets.UTF_8)));
  }

  void write(FilePlacement file) throws FileException {
    file.write((GSON.toJson(this) + "\n").getBytes(StandardCharsets.UTF_8));
  }

  private static ConsensusRecord parse(String text) {
    try {
      ConsensusRecord record = GSON.fromJson(text, ConsensusRecord.class);
      if (record == null || record.node == null || record.stage == null) {
        throw new IllegalArgumentException("the record lacks its node or stage");
      }
      if (record.memberId == null || record.clusterId == null) {
        throw new IllegalArgumentException("the record lacks its member or cluster id");
      }
      return record;
    } catch (JsonParseException notOurs) {
      throw new IllegalArgumentException("the file is not a member record in JSON", notOurs);
    }
  }
}
