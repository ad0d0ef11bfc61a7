package dev.polis.plugins.store;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Says how one swap ended, or how far one has come that is under way.
 *
 * @param began when it began
 * @param who who ordered it
 * @param what what was ordered, in words
 * @param from the generation it began with
 * @param target the fingerprint of the generation it wants; 64 zeros if it never got that far
 * @param outcome in one word, such as {@code applied}; the stage of one that is under way
 * @param reason why it ended so, in words; may be empty
 */
public record SwapRecord(
    Instant began,
    String who,
    String what,
    long from,
    Digest target,
    String outcome,
    String reason) {
  private static final String SEPARATOR = "\t";

  /** The outcome of a generation that a start of the process left, because it did not come up. */
  public static final String FELL_BACK = "fell back";

  /** The outcome of a swap that was cut off by the end of the process. */
  public static final String CUT_OFF = "reverted";

  /** The fingerprint of nothing. */
  public static final Digest NO_TARGET = new Digest("0".repeat(64));

  /** Refuses what is missing. */
  public SwapRecord {
    Stream.of(began, who, what, target, outcome, reason).forEach(Objects::requireNonNull);
  }

  /**
   * Returns this record with another ending.
   *
   * @param word the outcome, or the stage
   * @param why in words
   * @return another record
   */
  public SwapRecord as(String word, String why) {
    return new SwapRecord(began, who, what, from, target, word, why);
  }

  /**
   * Returns this record with a target.
   *
   * @param fingerprint of the generation that is wanted
   * @return another record
   */
  public SwapRecord towards(Digest fingerprint) {
    return new SwapRecord(began, who, what, from, fingerprint, outcome, reason);
  }

  /** Returns one line. */
  String encode() {
    return Stream.of(
            began.toString(), who, what, Long.toString(from), target.hex(), outcome, reason)
        .map(text -> URLEncoder.encode(text, StandardCharsets.UTF_8))
        .collect(Collectors.joining(SEPARATOR));
  }

  /**
   * Reads a line back.
   *
   * @throws IllegalArgumentException if {@link #encode} did not write it
   */
  static SwapRecord decode(String line) {
    String[] words = line.split(SEPARATOR, -1);
    if (words.length != 7) {
      throw new IllegalArgumentException("it has " + words.length + " fields, not 7");
    }
    for (int i = 0; i < words.length; i++) {
      words[i] = URLDecoder.decode(words[i], StandardCharsets.UTF_8);
    }
    try {
      return new SwapRecord(
          Instant.parse(words[0]),
          words[1],
          words[2],
          Long.parseLong(words[3]),
          new Digest(words[4]),
          words[5],
          words[6]);
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException("\"" + words[0] + "\" is no time", e);
    }
  }
}
