package dev.polis.logtree;

import java.util.Objects;

/**
 * Selects a reader's entries. Begin with {@link #of}, which selects only the name, and add: {@code
 * LogQuery.of("root.storage").withChildren().backlog(100).follow()}.
 *
 * @param dn name of the journal; empty for the root of all
 * @param children also journals below that name
 * @param backlog how many of the newest entries come first; {@link #ALL} for all, 0 for none
 * @param after only entries with a greater sequence number, in backlog and stream
 * @param kind leveled, raw, or any
 * @param minimum least severity of leveled entries
 * @param following true if the reader also wants later entries
 */
public record LogQuery(
    String dn,
    boolean children,
    int backlog,
    long after,
    Kind kind,
    Severity minimum,
    boolean following) {
  /** The backlog of all entries. */
  public static final int ALL = Integer.MAX_VALUE;

  /** Selects the kinds of payloads. */
  public enum Kind {
    /** Leveled and raw entries. */
    ANY,
    /** Only leveled entries. */
    LEVELED,
    /** Only raw entries. */
    RAW
  }

  /** Checks the name, the backlog, and that a severity is not asked of raw entries. */
  public LogQuery {
    dn = Dn.journal(dn);
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(minimum, "minimum");
    if (backlog < 0) {
      throw new IllegalArgumentException(
          "backlog is negative: " + backlog + "; use 0 for none, LogQuery.ALL for all");
    }
    if (minimum != Severity.INFO && kind != Kind.LEVELED) {
      throw new IllegalArgumentException(
          "raw entries have no severity; a minimum of " + minimum + " needs kind LEVELED");
    }
  }

  /** Returns a query for one name, without children, backlog or stream. */
  public static LogQuery of(String dn) {
    return new LogQuery(dn, false, 0, 0, Kind.ANY, Severity.INFO, false);
  }

  /** Adds the journals below the name. */
  public LogQuery withChildren() {
    return new LogQuery(dn, true, backlog, after, kind, minimum, following);
  }

  /** Adds the newest {@code count} entries. */
  public LogQuery backlog(int count) {
    return new LogQuery(dn, children, count, after, kind, minimum, following);
  }

  /** Adds all existing entries. */
  public LogQuery backlogAll() {
    return backlog(ALL);
  }

  /**
   * Omits the entries up to this sequence number. To continue where another reader was, give its
   * {@link LogReader#cursor} and the whole backlog, which then has the entries that came meanwhile.
   */
  public LogQuery after(long sequence) {
    return new LogQuery(dn, children, backlog, sequence, kind, minimum, following);
  }

  /**
   * Omits milder entries, and raw ones, which have no severity.
   *
   * @throws IllegalArgumentException if only raw entries are wanted
   */
  public LogQuery minimumSeverity(Severity severity) {
    return leveledOnly().withMinimum(severity);
  }

  /**
   * Omits raw entries.
   *
   * @throws IllegalArgumentException if only raw entries are wanted
   */
  public LogQuery leveledOnly() {
    return only(Kind.LEVELED);
  }

  /**
   * Omits leveled entries.
   *
   * @throws IllegalArgumentException if only leveled entries are wanted
   */
  public LogQuery rawOnly() {
    return only(Kind.RAW);
  }

  /** Adds the entries that are appended after the reader is opened. */
  public LogQuery follow() {
    return new LogQuery(dn, children, backlog, after, kind, minimum, true);
  }

  boolean covers(String name) {
    return children ? Dn.isWithin(name, dn) : name.equals(dn);
  }

  boolean admits(LogPayload payload) {
    return switch (payload) {
      case LogPayload.Leveled leveled ->
          kind != Kind.RAW && leveled.severity().compareTo(minimum) >= 0;
      case LogPayload.Raw _ -> kind != Kind.LEVELED;
    };
  }

  private LogQuery withMinimum(Severity severity) {
    return new LogQuery(dn, children, backlog, after, kind, severity, following);
  }

  private LogQuery only(Kind wanted) {
    if (kind != Kind.ANY && kind != wanted) {
      throw new IllegalArgumentException(
          "only " + kind + " and only " + wanted + " entries cannot be wanted together");
    }
    return new LogQuery(dn, children, backlog, after, wanted, minimum, following);
  }
}
