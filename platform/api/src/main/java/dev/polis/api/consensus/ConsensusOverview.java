package dev.polis.api.consensus;

import java.util.List;

/**
 * Holds etcd's status, for an operator.
 *
 * @param members all members, the local one first
 * @param leaderId the id of the leader, 1 to 16 hexadecimal digits; {@code 0} if there is none
 * @param version the version of the local etcd, such as {@code 3.5.16}
 * @param databaseBytes size of the local database file
 * @param databaseBytesInUse the part of it that holds data; defragmentation frees the rest
 * @param quotaBytes the size at which etcd refuses to write
 * @param revision the revision of the key space
 * @param raftIndex the last log entry known to be committed
 * @param raftTerm the term of the present leader
 * @param alarms raised alarms as {@code KIND at member id}, such as {@code NOSPACE at 8e9e05c5}
 * @param endpoints client URLs of the members, the local one first
 * @param operator files with which an operator's {@code etcdctl} may do everything
 */
public record ConsensusOverview(
    List<ConsensusMember> members,
    String leaderId,
    String version,
    long databaseBytes,
    long databaseBytesInUse,
    long quotaBytes,
    long revision,
    long raftIndex,
    long raftTerm,
    List<String> alarms,
    List<String> endpoints,
    OperatorFiles operator) {
  public ConsensusOverview {
    members = List.copyOf(members);
    alarms = List.copyOf(alarms);
    endpoints = List.copyOf(endpoints);
  }

  /**
   * Holds absolute paths of PEM files, readable by the node's user alone.
   *
   * @param ca certificate of the etcd CA, for {@code --cacert}
   * @param certificate certificate of etcd's root user, for {@code --cert}
   * @param key its private key, for {@code --key}
   */
  public record OperatorFiles(String ca, String certificate, String key) {}
}
