package dev.polis.base.values;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Predicate;

/** Maps and follows values. */
public final class Values {

  private Values() {}

  /**
   * Receives each state from {@link #follow}.
   *
   * @param <T> the type of the states
   */
  @FunctionalInterface
  public interface Follower<T> {
    /**
     * Acts on a state.
     *
     * @param value the newest state
     * @throws Exception ends the following
     */
    void accept(T value) throws Exception;
  }

  /**
   * Shows a value in another form. The reading thread calls the function for each get and peek, so
   * only reads cost work; the function should be cheap and must not depend on a single call.
   *
   * @param source the value to show
   * @param function turns a state of it into a state of the result; never returns null
   * @param <S> the type of the source
   * @param <T> the type of the result
   * @return a view, which needs no close
   */
  public static <S, T> Value<T> map(Value<S> source, Function<? super S, ? extends T> function) {
    return new Mapped<>(source, function);
  }

  /**
   * Passes each new state to a follower, beginning with the present one, until an exception ends
   * it. Never returns normally.
   *
   * @param value the value to follow
   * @param follower called by this thread; of the states that come while it works it gets the
   *     newest
   * @param <T> the type of the value
   * @throws InterruptedException if the thread is interrupted, the usual end
   * @throws Exception if the follower throws it
   */
  public static <T> void follow(Value<T> value, Follower<? super T> follower) throws Exception {
    try (Watcher<T> watcher = value.watch()) {
      while (true) {
        follower.accept(watcher.get());
      }
    }
  }

  private record Mapped<S, T>(Value<S> source, Function<? super S, ? extends T> function)
      implements Value<T> {

    @Override
    public Watcher<T> watch() {
      return new MappedWatcher<>(source.watch(), function);
    }

    @Override
    public Optional<T> peek() {
      return source.peek().map(function);
    }
  }

  private record MappedWatcher<S, T>(Watcher<S> source, Function<? super S, ? extends T> function)
      implements Watcher<T> {

    @Override
    public T get(Predicate<? super T> wanted) throws InterruptedException {
      Wanted<S, T> test = new Wanted<>(function, wanted);
      source.get(test);
      return test.result();
    }

    @Override
    public T get(Predicate<? super T> wanted, Duration within)
        throws InterruptedException, TimeoutException {
      Wanted<S, T> test = new Wanted<>(function, wanted);
      source.get(test, within);
      return test.result();
    }

    @Override
    public Optional<T> poll() {
      return source.poll().map(function);
    }

    @Override
    public void close() {
      source.close();
    }
  }

  /** Maps a state once, and uses the result for the test and as the return value. */
  private static final class Wanted<S, T> implements Predicate<S> {
    private final Function<? super S, ? extends T> function;
    private final Predicate<? super T> wanted;

    /** The mapped state of the latest test; null before the first. */
    private T result;

    Wanted(Function<? super S, ? extends T> function, Predicate<? super T> wanted) {
      this.function = function;
      this.wanted = wanted;
    }

    @Override
    public boolean test(S value) {
      result =
          Objects.requireNonNull(
              function.apply(value), "the function of a mapped value returned null");
      return wanted.test(result);
    }

    T result() {
      if (result == null) {
        throw new AssertionError("a watcher returned a value it had not tested");
      }
      return result;
    }
  }
}
