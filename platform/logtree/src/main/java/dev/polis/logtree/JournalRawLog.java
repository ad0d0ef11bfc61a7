package dev.polis.logtree;

import java.io.OutputStream;
import java.lang.ref.Reference;

final class JournalRawLog implements RawLog {
  private final JournalTree tree;
  private final Journal journal;
  // Keeps the journal from being dropped as vanished.
  private final Object anchor;

  JournalRawLog(JournalTree tree, Journal journal, Object anchor) {
    this.tree = tree;
    this.journal = journal;
    this.anchor = anchor;
  }

  @Override
  public String dn() {
    return journal.dn;
  }

  @Override
  public void line(String text) {
    if (text.isEmpty() || text.indexOf('\n') >= 0 || text.indexOf('\r') >= 0) {
      text.lines().forEach(line -> append(LogPayload.Raw.of(line)));
    } else {
      append(LogPayload.Raw.of(text));
    }
  }

  @Override
  public OutputStream stream() {
    return new LineBuffer(this::append);
  }

  private void append(LogPayload.Raw line) {
    tree.append(journal, line);
    Reference.reachabilityFence(anchor);
  }
}
