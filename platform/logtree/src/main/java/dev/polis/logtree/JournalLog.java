package dev.polis.logtree;

import java.lang.ref.Reference;

/** A log. The number of frames between a caller and {@link #append} is part of this class. */
final class JournalLog implements Log {
  // append, and the public method that called it.
  private static final int OWN_FRAMES = 2;

  private final JournalTree tree;
  private final Journal journal;
  // Keeps the journal from being dropped as vanished.
  private final Object anchor;
  private final int verbosity;
  private final int addedDepth;

  JournalLog(JournalTree tree, Journal journal, Object anchor) {
    this(tree, journal, anchor, 0, 0);
  }

  private JournalLog(
      JournalTree tree, Journal journal, Object anchor, int verbosity, int addedDepth) {
    this.tree = tree;
    this.journal = journal;
    this.anchor = anchor;
    this.verbosity = verbosity;
    this.addedDepth = addedDepth;
  }

  @Override
  public String dn() {
    return journal.dn;
  }

  @Override
  public void log(Severity severity, String format, Object... arguments) {
    append(severity, format, arguments);
  }

  @Override
  public void info(String format, Object... arguments) {
    append(Severity.INFO, format, arguments);
  }

  @Override
  public void warning(String format, Object... arguments) {
    append(Severity.WARNING, format, arguments);
  }

  @Override
  public void error(String format, Object... arguments) {
    append(Severity.ERROR, format, arguments);
  }

  @Override
  public void fatal(String format, Object... arguments) {
    append(Severity.FATAL, format, arguments);
  }

  @Override
  public Log v(int n) {
    return new JournalLog(tree, journal, anchor, n, addedDepth);
  }

  @Override
  public boolean enabled() {
    return journal.verbosity >= verbosity;
  }

  @Override
  public Log withAddedStackDepth(int added) {
    return new JournalLog(tree, journal, anchor, verbosity, addedDepth + added);
  }

  private void append(Severity severity, String format, Object[] arguments) {
    if (!enabled()) {
      return;
    }
    String message = LogMessage.format(format, arguments);
    String location = CallSite.outside(OWN_FRAMES + addedDepth);
    tree.append(
        journal, LogPayload.Leveled.of(severity, tree.clock().instant(), location, message));
    Reference.reachabilityFence(anchor);
  }
}
