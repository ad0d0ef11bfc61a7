package dev.polis.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;

/** Suggests the known word that is spelled most like an unknown one. */
public final class DidYouMean {
  /** With more than a third of the letters wrong, a guess is no help. */
  private static final int TOLERANCE = 3;

  private DidYouMean() {}

  /**
   * Returns the end of a refusal: the closest known word, or the list of all known words.
   *
   * @param word the unknown word
   * @param known all words that would have been accepted
   */
  public static String among(String word, Collection<String> known) {
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

  /**
   * Counts the letters that must be changed, added, dropped, or swapped with their neighbour
   * (optimal string alignment).
   */
  static int distance(String from, String to) {
    int[][] cost = new int[from.length() + 1][to.length() + 1];
    for (int i = 0; i <= from.length(); i++) {
      for (int j = 0; j <= to.length(); j++) {
        cost[i][j] = i == 0 || j == 0 ? i + j : step(cost, from, to, i, j);
      }
    }
    return cost[from.length()][to.length()];
  }

  private static int step(int[][] cost, String from, String to, int i, int j) {
    boolean same = from.charAt(i - 1) == to.charAt(j - 1);
    int best = cost[i - 1][j - 1] + (same ? 0 : 1);
    best = Math.min(best, 1 + Math.min(cost[i - 1][j], cost[i][j - 1]));
    boolean swapped =
        i > 1
            && j > 1
            && from.charAt(i - 1) == to.charAt(j - 2)
            && from.charAt(i - 2) == to.charAt(j - 1);
    return swapped ? Math.min(best, cost[i - 2][j - 2] + 1) : best;
  }
}
