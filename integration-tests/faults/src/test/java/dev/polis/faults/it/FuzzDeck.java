package dev.polis.faults.it;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Deals kinds of calls without end: all of a round, shuffled, and then the next round. A random
 * choice would leave unnoticed gaps.
 */
final class FuzzDeck {

  /**
   * The weight of the plaintext listener's only kind of caller, against six at the others, so that
   * all methods get as many calls.
   */
  private static final int PLAINTEXT_TIMES = FuzzCredential.ofTls().size();

  private final List<FuzzMethod> methods;
  private final Set<FuzzMethod> plaintext;
  private final RandomGenerator random;
  private final Deque<FuzzCell> dealt = new ArrayDeque<>();
  private int round;

  /**
   * Creates the deck.
   *
   * @param plaintext the methods that are served without TLS
   */
  FuzzDeck(List<FuzzMethod> methods, Set<FuzzMethod> plaintext, RandomGenerator random) {
    this.methods = methods;
    this.plaintext = plaintext;
    this.random = random;
  }

  FuzzCell next() {
    if (dealt.isEmpty()) {
      List<FuzzCell> cells = round(round++);
      Collections.shuffle(cells, random);
      dealt.addAll(cells);
    }
    return dealt.removeFirst();
  }

  private List<FuzzCell> round(int number) {
    List<FuzzCell> cells = new ArrayList<>();
    for (FuzzMethod method : methods) {
      for (FuzzContent content : FuzzContent.values()) {
        for (FuzzCredential credential : callers(method)) {
          cells.addAll(
              Collections.nCopies(
                  content.timesIn(number), new FuzzCell(method, credential, content)));
        }
      }
    }
    return cells;
  }

  private List<FuzzCredential> callers(FuzzMethod method) {
    return plaintext.contains(method)
        ? Collections.nCopies(PLAINTEXT_TIMES, FuzzCredential.PLAINTEXT)
        : FuzzCredential.ofTls();
  }
}
