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
 * Ends the evaluation of a filter that takes too long. CEL reports the value of each part to it,
 * and only an exception from here ends an evaluation: CEL ignores interrupts, and its own limit
 * counts rounds of comprehensions, and each round may double a text.
 *
 * <p>Only the evaluating thread may use it.
 */
final class FilterBudget implements CelEvaluationListener {
  /**
   * The most steps at one node; a filter of ten comparisons takes some fifty. 100,000 take 0.1 to
   * 0.5 s.
   */
  static final int STEPS = 100_000;

  /**
   * The largest value: letters of a text, or elements of a list with all their elements. A
   * comparison of two such values takes a millisecond, and a search of one in the other 0.1 s.
   */
  static final int LARGEST = 16 << 10;

  /** The number of elements that cost a step, because the evaluation only reads them. */
  private static final int ELEMENTS = 64;

  /** The longest time for all nodes of a list. */
  static final Duration TIME = Duration.ofSeconds(2);

  /** Ends an evaluation; the budget throws it many times, as CEL continues with other parts. */
  private static final class Spent extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Spent(String message) {
      super(message, null, false, false);
    }
  }

  private final long end = System.nanoTime() + TIME.toNanos();
  private String problem = ""; // empty until a limit is exceeded
  private boolean interrupted;
  private int steps;

  /** Begins with the next node. */
  void begin() {
    steps = 0;
  }

  /**
   * Returns the exceeded limit with a remedy; empty if the evaluation ended by itself.
   *
   * @throws InterruptedException if an interrupt of the thread ended the evaluation
   */
  Optional<String> problem() throws InterruptedException {
    if (interrupted) {
      throw new InterruptedException("the evaluation of the filter did not finish");
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
          "it makes a value of more than %d characters or elements; make smaller ones"
              .formatted(LARGEST);
    } else if (steps > STEPS) {
      problem =
          "it takes more than %d steps; use fewer or shorter lists, and write the most selective condition first"
              .formatted(STEPS);
    } else if (System.nanoTime() > end) {
      problem =
          "it took longer than %d s for all nodes; write the most selective condition first, or use fewer conditions"
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
