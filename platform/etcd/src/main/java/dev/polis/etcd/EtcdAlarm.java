package dev.polis.etcd;

/**
 * Describes an alarm that a member has raised.
 *
 * @param memberId who raised it
 * @param kind NOSPACE (its quota is used up: only reads and deletes are served) or CORRUPT
 */
public record EtcdAlarm(long memberId, Kind kind) {

  /** Names the kinds of alarm. */
  public enum Kind {
    NOSPACE,
    CORRUPT
  }
}
