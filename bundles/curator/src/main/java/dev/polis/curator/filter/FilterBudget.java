package dev.polis.curator.filter;

import com.google.protobuf.ByteString;
import dev.cel.common.ast.CelExpr;
import dev.cel.common.values.CelByteString;
import dev.cel.runtime.CelEvaluationListener;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;

/**
 * Ends the evaluation of a filter that takes too long. CEL tells it the value of each part, and
 * what it throws then is the only thing that ends an evaluation: CEL looks at no interrupt, and its
 * own limit counts turns of comprehensions, of which each may double a text.
 *
 * <p>For the thread that evaluates.
 */
final class FilterBudget implements CelEvaluationListener {
  /** Steps at one node; a filter of ten comparisons takes some fifty. 100,000 take 0.1 to 0.5 s. */
  static final int STEPS = 100_000;

  /**
   * Letters of a text, or elements of a list with those of its elements: the size of the largest
   * filter. Two such values are compared in a millisecond, and searched in each other in 0.1 s.
   */
  static final int LARGEST = 16 << 10;

  /** Elements that cost a step, as they are only looked at. */
  private static final int ELEMENTS = 64;

  /** Time for all nodes of a list. */
  static final Duration TIME = Duration.ofSeconds(2);

  /** Ends an evaluation; it is thrown many times, as CEL continues with other parts. */
  private static final class Spent extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Spent(String message) {
      super(message, null, false, false);
    }
  }

  private final long end = System.nanoTime() + TIME.toNanos();
  private String problem = ""; // empty until there is one
  private boolean interrupted;
  private int steps;

  /** Begins with the next node. */
  void begin() {
    steps = 0;
  }

  /**
   * Returns what the evaluation had too much of, and what to do; empty if it ended by itself.
   *
   * @throws InterruptedException if the thread was interrupted, which ended it
   */
  Optional<String> problem() throws InterruptedException {
    if (interrupted) {
      throw new InterruptedException("the filter was not evaluated to its end");
    }
    return Optional.of(problem).filter(text -> !text.isEmpty());
  }

  @Override
  public void callback(CelExpr part, Object value) {
    if (!interrupted && problem.isEmpty()) {
      count(value);
    }
    if (interrupted || !problem.isEmpty()) {
      throw new Spent(interrupted ? "interrupted" : problem);
    }
  }

  private void count(Object value) {
    int size = size(value, LARGEST);
    steps += 1 + size / ELEMENTS;
    interrupted = Thread.interrupted();
    if (size > LARGEST) {
      problem =
          "it makes a value of more than %d letters or elements; make smaller ones"
              .formatted(LARGEST);
    } else if (steps > STEPS) {
      problem =
          "it takes more than %d steps; walk fewer or shorter lists, and write what decides first"
              .formatted(STEPS);
    } else if (System.nanoTime() > end) {
      problem =
          "the time of %d s for all nodes was over; write what decides first, or filter less"
              .formatted(TIME.toSeconds());
    }
  }

  /** Returns the size of a value, or a number above {@code left} if it is larger than that. */
  private static int size(Object value, int left) {
    return switch (value) {
      case String text -> text.length();
      case CelByteString bytes -> bytes.size();
      case ByteString bytes -> bytes.size();
      case Map<?, ?> map -> size(map.keySet(), left) + size(map.values(), left);
      case Collection<?> elements -> sum(elements, left);
      case null, default -> 1;
    };
  }

  private static int sum(Collection<?> elements, int left) {
    int sum = elements.size();
    if (sum > left) {
      return sum;
    }
    for (Object element : elements) {
      if (sum > left) {
        break;
      }
      sum += size(element, left - sum);
    }
    return sum;
  }
}
