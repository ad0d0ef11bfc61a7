package dev.polis.logtree;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/** Where entries come from, as {@code file:line}. */
sealed interface CallSite {
  /** The caller of the log method that asks. */
  CallSite CALLER = new Caller(0);

  /** Returns the place; to be called by a public method of the log itself, for frames count. */
  String place();

  /**
   * Returns the place if the caller's own is known; to be called by a method of the log that {@link
   * LogPlaces} calls, for frames count.
   */
  String place(String callers);

  /** Returns the site {@code added} frames further out. */
  CallSite further(int added);

  /** A place that was found once. */
  record Known(String place) implements CallSite {
    @Override
    public String place(String callers) {
      return place;
    }

    @Override
    public CallSite further(int added) {
      return this;
    }
  }

  /**
   * Looks up the stack each time, which is most of what an entry costs then: a microsecond for the
   * walk as such, and a fourth for each frame that is fetched.
   *
   * <p>A throwable would walk the whole stack and hold on to the classes in it, which must be free
   * to go with their bundle; remembering lines by format string would mix up calls that share one;
   * remembering them by method and bytecode index saves a tenth, for it is the walk that costs.
   */
  final class Caller implements CallSite {
    // This class, and the method of the log.
    private static final int OWN_FRAMES = 2;
    // The wanted frame comes after them; fetching more would be wasted work.
    private static final StackWalker WALKER = StackWalker.getInstance(Set.of(), OWN_FRAMES + 1);

    private final int added;
    private final Function<Stream<StackFrame>, String> locator;
    // The method of LogPlaces stands between the caller and the log.
    private final Function<Stream<StackFrame>, String> placed;

    private Caller(int added) {
      this.added = added;
      this.locator = stack -> locate(stack, OWN_FRAMES + added);
      this.placed = stack -> locate(stack, OWN_FRAMES + 1 + added);
    }

    @Override
    public String place() {
      return WALKER.walk(locator);
    }

    @Override
    public String place(String callers) {
      return added == 0 ? callers : WALKER.walk(placed);
    }

    @Override
    public CallSite further(int more) {
      return new Caller(added + more);
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
}
