package dev.polis.health;

import dev.polis.supervision.SupervisionTree;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Describes the position of a runnable's thread.
 *
 * @param stack innermost first; empty if unknown
 */
record Standing(List<StackTraceElement> stack) {

  static final Standing UNKNOWN = new Standing(List.of());

  /** The number of shown calls: these few show which part of an organ waits, and for what. */
  private static final int TOLD = 3;

  /** The class at which the body of each runnable's thread begins. */
  private static final String BODY = SupervisionTree.class.getName();

  /** Returns the position as the end of a sentence; empty if unknown. */
  String words() {
    List<StackTraceElement> own = stack.stream().filter(frame -> !isOfJdk(frame)).toList();
    if (own.isEmpty()) {
      return "";
    }
    String places =
        own.stream()
            .takeWhile(frame -> !frame.getClassName().equals(BODY))
            .limit(TOLD)
            .map(Standing::place)
            .collect(Collectors.joining(", called by "));
    int calls = stack.indexOf(own.getFirst());
    return calls == 0
        ? "; it is at " + places
        : "; it is in %s, called by %s".formatted(method(stack.get(calls - 1)), places);
  }

  /** Returns the whole stack, one line for each call. */
  List<String> lines() {
    return stack.stream()
        .takeWhile(frame -> !frame.getClassName().equals(BODY))
        .map(frame -> "at " + place(frame))
        .toList();
  }

  private static boolean isOfJdk(StackTraceElement frame) {
    return frame.getClassName().matches("(java|javax|jdk|sun)\\..*");
  }

  private static String method(StackTraceElement frame) {
    return frame.getClassName() + "." + frame.getMethodName();
  }

  private static String place(StackTraceElement frame) {
    return method(frame) + ":" + frame.getLineNumber();
  }
}
