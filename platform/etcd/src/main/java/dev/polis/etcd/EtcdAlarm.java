package dev.polis.etcd;

/**
 * Describes an alarm that a member has raised.
 *
 * @param memberId the member that raised it
 * @param kind NOSPACE (its quota is used up: it serves only reads and deletes) or CORRUPT
 */
public record EtcdAlarm(long memberId, Kind kind) {

  /** Names the kinds of alarm. */
  public enum Kind {
    NOSPACE,
    CORRUPT
  }
}
