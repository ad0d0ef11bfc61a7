package dev.polis.consensus;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import java.nio.charset.StandardCharsets;

/**
 * Records whose member is on this disk and how far its bootstrap came.
 *
 * @param node the node it was made for
 * @param stage how far it came
 * @param memberId its id in hexadecimal; empty while BOOTSTRAPPING
 * @param clusterId its cluster's id in hexadecimal; empty while BOOTSTRAPPING
 * @param alone whether its cluster had no other member at the last check; a record of an earlier
 *     version lacks this and counts as one of several members
 * @param users the users and roles that etcd had at the last check; empty if that is not known
 */
record ConsensusRecord(
    String node, Stage stage, String memberId, String clusterId, boolean alone, String users) {

  /** Reads a record of an earlier version, which does not name the users, as one without users. */
  ConsensusRecord {
    users = users == null ? "" : users;
  }

  /** How far a member came. */
  enum Stage {
    /** A new cluster is being made; an empty data directory is fine. */
    BOOTSTRAPPING,
    /** The member is complete; an empty data directory is a loss of data. */
    MEMBER
  }

  private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

  static ConsensusRecord bootstrapping(String node) {
    return new ConsensusRecord(node, Stage.BOOTSTRAPPING, "", "", true, "");
  }

  /** Returns whether this is the record of that member of that cluster. */
  boolean isOf(String otherMember, String otherCluster) {
    return memberId.equals(otherMember) && clusterId.equals(otherCluster);
  }

  ConsensusRecord complete(String memberId, String clusterId) {
    return new ConsensusRecord(node, Stage.MEMBER, memberId, clusterId, alone, users);
  }

  /** Returns the same record with the users and roles that etcd has now. */
  ConsensusRecord withUsers(String present) {
    return new ConsensusRecord(node, stage, memberId, clusterId, alone, present);
  }

  /** Returns the same record with another answer to whether the cluster has one member. */
  ConsensusRecord withAlone(boolean now) {
    return new ConsensusRecord(node, stage, memberId, clusterId, now, users);
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
