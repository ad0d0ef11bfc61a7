package dev.polis.logtree;

import java.lang.StackWalker.StackFrame;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * Finds where a log method was called, as {@code file:line}.
 *
 * <p>Walking to the frame is cheap, finding its line is not; so the line of each call site is
 * remembered with the class that contains it, and goes with that class when its bundle does.
 */
final class CallSite {
  private static final StackWalker WALKER =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  private static final ClassValue<ConcurrentHashMap<Place, String>> KNOWN =
      new ClassValue<>() {
        @Override
        protected ConcurrentHashMap<Place, String> computeValue(Class<?> type) {
          return new ConcurrentHashMap<>();
        }
      };

  private record Place(String method, String descriptor, int index) {}

  private CallSite() {}

  /** Returns the place that is {@code frames} frames outside of the calling method. */
  static String outside(int frames) {
    // The first frame of the walk is this method.
    return WALKER.walk(stack -> locate(stack, frames));
  }

  private static String locate(Stream<StackFrame> stack, int frames) {
    return stack.skip(frames).findFirst().map(CallSite::describe).orElse("");
  }

  private static String describe(StackFrame frame) {
    var known = KNOWN.get(frame.getDeclaringClass());
    var place = new Place(frame.getMethodName(), frame.getDescriptor(), frame.getByteCodeIndex());
    String location = known.get(place);
    if (location == null) {
      location = frame.getFileName() + ":" + frame.getLineNumber();
      known.put(place, location);
    }
    return location;
  }
}
