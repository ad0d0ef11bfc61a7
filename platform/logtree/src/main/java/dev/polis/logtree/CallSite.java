package dev.polis.logtree;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/** Finds the place of a log call, as {@code file:line}. */
sealed interface CallSite {
  /** The site of the caller of the log method. */
  CallSite CALLER = new Caller(0);

  /**
   * Returns the place; only a public method of the log calls it, because it counts stack frames.
   */
  String place();

  /**
   * Returns the caller's place, or this site's own if that is another one. Only a log method that
   * {@link LogPlaces} calls may call it, because it counts stack frames.
   */
  String place(String callers);

  /** Returns the site {@code added} frames further out. */
  CallSite further(int added);

  /** Holds a place that was looked up once. */
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
   * Looks up the stack for each entry. This is most of the cost of such an entry: a microsecond for
   * the walk, and a fourth of that for each fetched frame.
   *
   * <p>A throwable would walk the whole stack and keep its classes in memory after their bundle is
   * removed. A map from format strings to lines would mix up calls with the same format. A map from
   * methods and bytecode indexes saves only a tenth, since the walk itself costs most.
   */
  final class Caller implements CallSite {
    // This class and the method of the log.
    private static final int OWN_FRAMES = 2;
    // The wanted frame comes next; more frames would be wasted work.
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
