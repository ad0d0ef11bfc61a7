package dev.polis.node;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;

/** Guesses what was meant by a word nobody knows. */
final class DidYouMean {
  /** With more than a third of the letters wrong, a guess is no help. */
  private static final int TOLERANCE = 3;

  private DidYouMean() {}

  /**
   * @param word the unknown word
   * @param known all there are
   * @return the end of a sentence: a guess, or else all there are
   */
  static String among(String word, Collection<String> known) {
    String lower = word.toLowerCase(Locale.ROOT);
    return known.stream()
        .min(
            Comparator.comparingInt(
                    (String other) -> distance(lower, other.toLowerCase(Locale.ROOT)))
                .thenComparing(Comparator.naturalOrder()))
        .filter(
            other ->
                distance(lower, other.toLowerCase(Locale.ROOT))
                    <= Math.max(1, other.length() / TOLERANCE))
        .map(other -> "; did you mean \"" + other + "\"?")
        .orElse(
            known.isEmpty() ? "; there is none at all" : "; there are " + String.join(", ", known));
  }

  /** How many letters must be changed, added or dropped (Levenshtein). */
  static int distance(String from, String to) {
    int[] previous = new int[to.length() + 1];
    for (int j = 0; j <= to.length(); j++) {
      previous[j] = j;
    }
    for (int i = 1; i <= from.length(); i++) {
      int[] row = new int[to.length() + 1];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int change = previous[j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(change, Math.min(previous[j], row[j - 1]) + 1);
      }
      previous = row;
    }
    return previous[to.length()];
  }
}
