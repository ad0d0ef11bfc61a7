package dev.polis.supervision;

import java.util.Optional;

/**
 * Decides which failures of a runnable the log shows. One that fails in the same way at each start
 * would otherwise fill the log with one sentence. The lock of the tree guards it.
 */
final class SameFailure {

  private String words = "";
  private long times;

  /**
   * Counts a failure.
   *
   * @param failure its words
   * @return what the log adds to these words; empty if it does not show this failure
   */
  Optional<String> next(String failure) {
    times = failure.equals(words) ? times + 1 : 1;
    words = failure;
    if (times == 1) {
      return Optional.of("");
    }
    return Long.bitCount(times) == 1
        ? Optional.of(
            " (the same as before, %d times in a row; the log shows the next one after as many)"
                .formatted(times))
        : Optional.empty();
  }

  /** Forgets the failures, since the runnable works. */
  void reset() {
    words = "";
    times = 0;
  }
}
