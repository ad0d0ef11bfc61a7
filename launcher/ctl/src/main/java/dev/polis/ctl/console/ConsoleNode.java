package dev.polis.ctl.console;

import dev.polis.logtree.LogEntry;
import java.util.function.Predicate;

/** Answers a page about one node; each call may take long. Replaced in tests. */
interface ConsoleNode {

  /** Returns the id of the node, or a word for it. */
  String name();

  /** Returns the address of the node. */
  String address();

  /** Asks the node how it stands. */
  ConsoleFacts facts() throws InterruptedException;

  /**
   * Reads the log of a part of the node, from its last entries on, until it ends.
   *
   * @param part its name in the supervision tree; empty for all
   * @param reader gets each entry, and returns whether it wants more
   * @return why the log ended
   */
  String follow(String part, Predicate<LogEntry> reader) throws InterruptedException;
}
