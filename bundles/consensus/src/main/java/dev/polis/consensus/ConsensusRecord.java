package dev.polis.consensus;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

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
 * @param peers the other members at the last check, each as {@code NAME=URL}
 * @param former the ids of the clusters whose records this member has taken into a new one
 */
record ConsensusRecord(
    String node,
    Stage stage,
    String memberId,
    String clusterId,
    boolean alone,
    String users,
    List<String> others,
    List<String> peers,
    List<String> former) {

  /** Sets nothing for the parts that a record of an earlier version lacks. */
  ConsensusRecord {
    users = users == null ? "" : users;
    others = others == null ? List.of() : List.copyOf(others);
    peers = peers == null ? List.of() : List.copyOf(peers);
    former = former == null ? List.of() : List.copyOf(former);
  }

  /** Lists the stages of a member. */
  enum Stage {
    /** The creation of a new cluster is running, and an empty data directory is allowed. */
    BOOTSTRAPPING,
    /** The member is a learner of an existing cluster, and has no vote yet. */
    LEARNER,
    /** The member is complete, and an empty data directory is a loss of data. */
    MEMBER,
    /**
     * The data of a new cluster are complete, and replace those of the member and the cluster that
     * the record still names.
     */
    RECOVERED
  }

  private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

  static ConsensusRecord bootstrapping(String node) {
    return new ConsensusRecord(
        node, Stage.BOOTSTRAPPING, "", "", true, "", List.of(), List.of(), List.of());
  }

  static ConsensusRecord learner(
      String node, String memberId, String clusterId, List<String> others) {
    return new ConsensusRecord(
        node, Stage.LEARNER, memberId, clusterId, false, "", others, List.of(), List.of());
  }

  /** Returns whether this record belongs to that member of that cluster. */
  boolean isOf(String otherMember, String otherCluster) {
    return memberId.equals(otherMember) && clusterId.equals(otherCluster);
  }

  ConsensusRecord complete(String newMember, String newCluster) {
    List<String> before =
        stage == Stage.RECOVERED
            ? Stream.concat(former.stream(), Stream.of(clusterId)).distinct().toList()
            : former;
    return new ConsensusRecord(
        node, Stage.MEMBER, newMember, newCluster, alone, users, others, peers, before);
  }

  /** Returns the record of a member whose data of a new cluster are complete. */
  ConsensusRecord recovered() {
    return new ConsensusRecord(
        node, Stage.RECOVERED, memberId, clusterId, true, "", List.of(), peers, former);
  }

  /** Returns the same record with the users and roles that etcd has now. */
  ConsensusRecord withUsers(String present) {
    return new ConsensusRecord(
        node, stage, memberId, clusterId, alone, present, others, peers, former);
  }

  /** Returns the same record, with or without the mark of a single member. */
  ConsensusRecord withAlone(boolean now) {
    return new ConsensusRecord(node, stage, memberId, clusterId, now, users, others, peers, former);
  }

  /** Returns the same record with the other members that etcd has now. */
  ConsensusRecord withPeers(List<String> now) {
    return new ConsensusRecord(node, stage, memberId, clusterId, alone, users, others, now, former);
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
