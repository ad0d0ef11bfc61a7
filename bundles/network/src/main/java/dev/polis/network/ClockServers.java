package dev.polis.network;

import java.util.List;

/**
 * Lists the time servers of the machine's clock.
 *
 * @param names their checked names or addresses
 * @param chosen true if an operator named them, false if the link offers them
 */
record ClockServers(List<String> names, boolean chosen) {

  ClockServers {
    names = List.copyOf(names);
  }

  boolean isEmpty() {
    return names.isEmpty();
  }

  /** Returns the names as a clause for people. */
  String words() {
    return String.join(", ", names);
  }
}
