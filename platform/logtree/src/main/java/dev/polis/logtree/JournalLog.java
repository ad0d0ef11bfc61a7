package dev.polis.logtree;

import java.lang.ref.Reference;

/**
 * Appends leveled entries to a journal. Its public methods call {@link CallSite} themselves,
 * because it counts stack frames.
 */
final class JournalLog implements Log {
  private final JournalTree tree;
  private final Journal journal;
  // Keeps the journal from being dropped as vanished.
  private final Object anchor;
  private final int verbosity;
  private final CallSite site;

  JournalLog(JournalTree tree, Journal journal, Object anchor) {
    this(tree, journal, anchor, 0, CallSite.CALLER);
  }

  private JournalLog(
      JournalTree tree, Journal journal, Object anchor, int verbosity, CallSite site) {
    this.tree = tree;
    this.journal = journal;
    this.anchor = anchor;
    this.verbosity = verbosity;
    this.site = site;
  }

  @Override
  public String dn() {
    return journal.dn;
  }

  @Override
  public void log(Severity severity, String format, Object... arguments) {
    if (enabled()) {
      append(severity, site.place(), format, arguments);
    }
  }

  @Override
  public void info(String format, Object... arguments) {
    if (enabled()) {
      append(Severity.INFO, site.place(), format, arguments);
    }
  }

  @Override
  public void warning(String format, Object... arguments) {
    if (enabled()) {
      append(Severity.WARNING, site.place(), format, arguments);
    }
  }

  @Override
  public void error(String format, Object... arguments) {
    if (enabled()) {
      append(Severity.ERROR, site.place(), format, arguments);
    }
  }

  @Override
  public void fatal(String format, Object... arguments) {
    if (enabled()) {
      append(Severity.FATAL, site.place(), format, arguments);
    }
  }

  @Override
  public Log v(int n) {
    return new JournalLog(tree, journal, anchor, n, site);
  }

  @Override
  public boolean enabled() {
    return journal.verbosity >= verbosity;
  }

  @Override
  public Log withAddedStackDepth(int added) {
    return new JournalLog(tree, journal, anchor, verbosity, site.further(added));
  }

  @Override
  public Log here() {
    return new JournalLog(tree, journal, anchor, verbosity, new CallSite.Known(site.place()));
  }

  /** Appends an entry from {@link LogPlaces}, which knows the call's place. */
  void append(Severity severity, String format, Object[] arguments, String known) {
    if (enabled()) {
      append(severity, site.place(known), format, arguments);
    }
  }

  private void append(Severity severity, String place, String format, Object[] arguments) {
    String message = LogMessage.format(format, arguments);
    tree.append(journal, LogPayload.Leveled.of(severity, tree.clock().instant(), place, message));
    Reference.reachabilityFence(anchor);
  }
}
