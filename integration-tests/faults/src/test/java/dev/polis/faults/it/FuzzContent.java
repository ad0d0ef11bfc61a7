package dev.polis.faults.it;

/**
 * Names the content of a senseless call.
 *
 * <p>In a round each method gets each kind from each caller as often as the kind states, rare kinds
 * only every few rounds: they cost up to a hundred times as much, and test the decoder and the
 * limits, which all methods share.
 */
enum FuzzContent {
  /** A message of the right type, with values that have a meaning for the node. */
  VALID(3, 1),
  /** The same with a few changed bytes, or with a length that is too large. */
  MUTATED(3, 1),
  /** A message of the right type whose texts are no UTF-8. */
  NOT_UTF8(2, 1),
  RANDOM_BYTES(2, 1),
  TRUNCATED(1, 1),
  EMPTY(1, 1),
  /** A message of another method. */
  FOREIGN_TYPE(1, 1),
  /** A text that nests expressions, thousands of levels deep. */
  DEEP_TEXT(1, 8),
  /** Messages nested in messages. */
  DEEP_MESSAGE(1, 8),
  /** A text of up to 256 KiB, mostly far less. */
  LONG_TEXT(1, 8),
  /** 64 KiB of zeros. */
  ZEROS(1, 8),
  /** No message where one is required. */
  NO_MESSAGE(1, 8),
  /** Several messages, where most methods take one. */
  SEVERAL_MESSAGES(1, 8),
  /** More than the node's limit of 4 MiB. */
  TOO_LARGE(1, 32);

  private final int times;
  private final int everyRounds;

  FuzzContent(int times, int everyRounds) {
    this.times = times;
    this.everyRounds = everyRounds;
  }

  int timesIn(int round) {
    return round % everyRounds == 0 ? times : 0;
  }
}
