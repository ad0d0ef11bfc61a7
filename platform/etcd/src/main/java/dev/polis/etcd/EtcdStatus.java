package dev.polis.etcd;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds the status that one member reports of itself.
 *
 * @param endpoint the endpoint of the member
 * @param memberId its id
 * @param clusterId id of the cluster it belongs to
 * @param leaderId id of the leader it knows, 0 for none
 * @param version of etcd
 * @param revision of its key-value store
 * @param raftTerm raft term
 * @param raftIndex last index it knows
 * @param raftAppliedIndex last index it has applied
 * @param databaseBytes size of its database file
 * @param databaseBytesInUse part of it that is in use; defragmentation frees the rest
 * @param learner true while it has no vote
 * @param errors alarms and other complaints
 */
public record EtcdStatus(
    EtcdEndpoint endpoint,
    long memberId,
    long clusterId,
    long leaderId,
    String version,
    long revision,
    long raftTerm,
    long raftIndex,
    long raftAppliedIndex,
    long databaseBytes,
    long databaseBytesInUse,
    boolean learner,
    List<String> errors) {

  /** The text of an alarm among the errors: the message of etcd's protocol in its text form. */
  private static final Pattern ALARM =
      Pattern.compile("memberID:(\\d+)\\s+alarm:(NOSPACE|CORRUPT)\\s*");

  public EtcdStatus {
    errors = List.copyOf(errors);
  }

  public boolean isLeader() {
    return memberId == leaderId;
  }

  /**
   * Returns the raised alarms of all members, as this one knows them. Unlike {@link
   * EtcdAdmin#alarms}, the answer needs no quorum and no write of the members' logs.
   */
  public List<EtcdAlarm> alarms() {
    return errors.stream()
        .map(ALARM::matcher)
        .filter(Matcher::matches)
        .map(
            text ->
                new EtcdAlarm(
                    Long.parseUnsignedLong(text.group(1)), EtcdAlarm.Kind.valueOf(text.group(2))))
        .toList();
  }
}
