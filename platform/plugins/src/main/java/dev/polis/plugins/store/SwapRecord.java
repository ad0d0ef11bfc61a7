package dev.polis.plugins.store;

import dev.polis.base.boot.FailureText;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Describes the end of one swap, or the progress of a running one.
 *
 * @param began the time of its begin
 * @param who the caller
 * @param what the order, as a text for people
 * @param from the generation at its begin
 * @param target the fingerprint of the wanted generation; 64 zeros if unknown
 * @param outcome the outcome in one word, such as {@code applied}; the stage of a running swap
 * @param reason the reason of the outcome, as a text for people, which is cut after some 2,000
 *     characters; may be empty
 * @param plugins the symbolic names of the affected plugins, as far as known
 */
public record SwapRecord(
    Instant began,
    String who,
    String what,
    long from,
    Digest target,
    String outcome,
    String reason,
    Set<String> plugins) {
  private static final String SEPARATOR = "\t";
  private static final String PLUGIN_SEPARATOR = " ";
  private static final int FIELDS = 8;

  /** The number of fields in a line of an earlier version of the platform. */
  private static final int FIELDS_WITHOUT_PLUGINS = 7;

  /** The outcome of a swap whose order is fulfilled. */
  public static final String APPLIED = "applied";

  /** The outcome of an order that changes nothing. */
  public static final String NOTHING_TO_DO = "nothing to do";

  /**
   * The outcome of a swap whose generation a start of the process left, because the start was
   * unsuccessful.
   */
  public static final String FELL_BACK = "fell back";

  /**
   * The outcome of a swap whose generation a start of the process left, because a key was removed.
   */
  public static final String NOT_TRUSTED = "not trusted";

  /**
   * The outcome of a swap that was reverted only in part; its journal stays for the next start of
   * the process, which completes the revert.
   */
  public static final String COULD_NOT_REVERT = "could not revert";

  /** The outcome of a swap that the end of the process cut off. */
  public static final String CUT_OFF = "reverted";

  /** The fingerprint of an unknown target. */
  public static final Digest NO_TARGET = new Digest("0".repeat(64));

  public SwapRecord {
    Stream.of(began, who, what, target, outcome, reason).forEach(Objects::requireNonNull);
    // A plugin may have written it, and each write of the history repeats all records.
    reason = FailureText.shortened(reason);
    plugins = Set.copyOf(plugins);
  }

  /**
   * Creates the record of a start that left a generation.
   *
   * @param left the left generation
   */
  public static SwapRecord ofStart(
      Instant began, Generation left, String outcome, String reason, Set<String> plugins) {
    return new SwapRecord(
        began,
        "the launcher",
        "start of the process",
        left.number(),
        left.fingerprint(),
        outcome,
        reason,
        plugins);
  }

  /** Returns whether the swap ended without fulfilling its order. */
  public boolean isFailure() {
    return !outcome.equals(APPLIED) && !outcome.equals(NOTHING_TO_DO);
  }

  /** Returns whether another record is about the same swap. */
  boolean isOf(SwapRecord other) {
    return began.equals(other.began()) && what.equals(other.what());
  }

  /**
   * Returns this record with more affected plugins.
   *
   * @param more their symbolic names
   * @return another record
   */
  public SwapRecord about(Set<String> more) {
    Set<String> all = new TreeSet<>(plugins);
    all.addAll(more);
    return new SwapRecord(began, who, what, from, target, outcome, reason, all);
  }

  /**
   * Returns this record with another outcome.
   *
   * @param word the outcome, or the stage
   * @param why the reason, as a text for people
   * @return another record
   */
  public SwapRecord as(String word, String why) {
    return new SwapRecord(began, who, what, from, target, word, why, plugins);
  }

  /**
   * Returns this record with a target.
   *
   * @param fingerprint the fingerprint of the wanted generation
   * @return another record
   */
  public SwapRecord towards(Digest fingerprint) {
    return new SwapRecord(began, who, what, from, fingerprint, outcome, reason, plugins);
  }

  /** Returns the record as one line. */
  String encode() {
    return Stream.of(
            began.toString(),
            who,
            what,
            Long.toString(from),
            target.hex(),
            outcome,
            reason,
            String.join(PLUGIN_SEPARATOR, new TreeSet<>(plugins)))
        .map(text -> URLEncoder.encode(text, StandardCharsets.UTF_8))
        .collect(Collectors.joining(SEPARATOR));
  }

  /**
   * Reads a record from its line.
   *
   * @throws IllegalArgumentException if {@link #encode} did not write it
   */
  static SwapRecord decode(String line) {
    String[] words = line.split(SEPARATOR, -1);
    if (words.length != FIELDS && words.length != FIELDS_WITHOUT_PLUGINS) {
      throw new IllegalArgumentException("it has " + words.length + " fields, not " + FIELDS);
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
          words[6],
          words.length == FIELDS && !words[7].isEmpty()
              ? Set.of(words[7].split(PLUGIN_SEPARATOR))
              : Set.of());
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException("\"" + words[0] + "\" is no time", e);
    }
  }
}
