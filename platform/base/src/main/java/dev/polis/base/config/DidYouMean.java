package dev.polis.base.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;

/** Suggests the known word that is spelled most like an unknown one. */
public final class DidYouMean {
  /** The part of the letters that may be wrong, a third; beyond it a guess does not help. */
  private static final int TOLERANCE = 3;

  private DidYouMean() {}

  /**
   * Returns the end of a refusal: the closest known word, or the list of all known words.
   *
   * @param word the unknown word
   * @param known all accepted words
   */
  public static String among(String word, Collection<String> known) {
    String guess = guess(word, known);
    if (!guess.isEmpty()) {
      return guess;
    }
    return known.isEmpty() ? "; there is none at all" : "; there are " + String.join(", ", known);
  }

  /**
   * Returns the end of a refusal: the closest known word, or an empty text if none is close.
   *
   * @param word the unknown word
   * @param known all accepted words
   */
  public static String guess(String word, Collection<String> known) {
    return known.stream()
        .filter(other -> Math.abs(other.length() - word.length()) <= tolerance(other))
        .map(other -> new Guess(other, word))
        .filter(guess -> guess.distance <= tolerance(guess.word))
        .min(Comparator.comparingInt(Guess::distance).thenComparing(Guess::word))
        .map(guess -> "; did you mean \"" + guess.word + "\"?")
        .orElse("");
  }

  /**
   * Returns the number of letters of a known word that may be wrong. The search skips an unknown
   * word whose length differs by more: it comes from a peer and may be as long as a message.
   */
  private static int tolerance(String known) {
    return Math.max(1, known.length() / TOLERANCE);
  }

  private record Guess(String word, int distance) {
    Guess(String known, String unknown) {
      this(
          known,
          DidYouMean.distance(unknown.toLowerCase(Locale.ROOT), known.toLowerCase(Locale.ROOT)));
    }
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
