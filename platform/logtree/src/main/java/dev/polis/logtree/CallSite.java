package dev.polis.logtree;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Finds where a log method was called, as {@code file:line}.
 *
 * <p>This is most of what a leveled entry costs (about 1 µs). A throwable would walk the whole
 * stack and hold on to the classes in it, which must be free to go with their bundle; remembering
 * lines by format string would mix up calls that share one; remembering them by method and bytecode
 * index was measured to be no cheaper than asking.
 */
final class CallSite {
  // The wanted frame is the fourth: more would be fetched in vain.
  private static final int USUAL_DEPTH = 4;
  private static final StackWalker WALKER = StackWalker.getInstance(Set.of(), USUAL_DEPTH);

  private CallSite() {}

  /** Returns the place {@code frames} frames outside of the calling method; empty if none is. */
  static String outside(int frames) {
    // The first frame of the walk is this method.
    return WALKER.walk(stack -> locate(stack, frames + 1));
  }

  private static String locate(Stream<StackFrame> stack, int skipped) {
    Iterator<StackFrame> frames = stack.iterator();
    for (int i = 0; i < skipped && frames.hasNext(); i++) {
      frames.next();
    }
    if (!frames.hasNext()) {
      return "";
    }
    StackTraceElement place = frames.next().toStackTraceElement();
    return place.getFileName() + ":" + place.getLineNumber();
  }
}
