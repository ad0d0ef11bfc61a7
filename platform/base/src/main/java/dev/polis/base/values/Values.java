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
   * What {@link #follow} calls with each state.
   *
   * @param <T> what is followed
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
   * Shows a value in another form. The function is called for each get and peek, by the thread that
   * asks, so work is only done for what is read; it should be cheap and must not depend on being
   * called once.
   *
   * @param source the value to show
   * @param function turns a state of it into a state of the result; never returns null
   * @param <S> what the source holds
   * @param <T> what the result holds
   * @return a view; it owns nothing
   */
  public static <S, T> Value<T> map(Value<S> source, Function<? super S, ? extends T> function) {
    return new Mapped<>(source, function);
  }

  /**
   * Hands each new state to a follower, beginning with the present one, until something ends it.
   * Never returns normally.
   *
   * @param value what to follow
   * @param follower called by this thread; states that come while it works are reduced to the
   *     newest
   * @param <T> what the value holds
   * @throws InterruptedException if the thread is interrupted, the usual end
   * @throws Exception what the follower throws
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

  /** Maps a state once, for the test and for the result alike. */
  private static final class Wanted<S, T> implements Predicate<S> {
    private final Function<? super S, ? extends T> function;
    private final Predicate<? super T> wanted;

    /** Of the latest test; null before the first. */
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
