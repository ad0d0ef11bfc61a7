package dev.polis.node;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.OpenWait;
import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Keeps the progress of a boot: the open waits, whether the node is home, and how it ends.
 * Thread-safe.
 */
final class BootProgress implements BootReport {

  /** A reason for the end of the node. */
  sealed interface Ending {
    /** A stop was requested. */
    record Asked(StopReason reason) implements Ending {}

    /** A new process was requested in place of this one. */
    record Restart() implements Ending {}

    /** An organ reported a fatal error. */
    record Fatal(String organ, Throwable cause) implements Ending {}
  }

  /**
   * A wait that has ended.
   *
   * @param result what came of it; the last detail if it was given up
   */
  record Ended(String name, Duration lasted, boolean worthIt, String result) {}

  /**
   * Receives what ends. Open waits are read with {@link #openWaits}. The reporting threads call it.
   */
  interface Listener {
    void ended(Ended wait);

    void homeAgain(String summary);

    void poweringOff(String reason);

    void restarting(String reason);

    void consequence(String organ, Throwable cause);
  }

  private final LongSupplier nanos;
  private final Listener listener;
  private final Supplier<Optional<String>> lockOut;
  private final String lastCrash; // empty if the last run did not crash
  private final List<ProgressWait> open = new ArrayList<>();
  private final AtomicReference<StopReason> stopReason =
      new AtomicReference<>(StopReason.CODE_REPLACED);
  private final CompletableFuture<String> home = new CompletableFuture<>();
  private final CompletableFuture<Ending> ending = new CompletableFuture<>();

  /**
   * @param nanos a clock that only goes forward
   * @param lockOut says why a power-off would lock the owner out
   * @param lastCrash how the last run crashed
   */
  BootProgress(
      LongSupplier nanos,
      Listener listener,
      Supplier<Optional<String>> lockOut,
      Optional<String> lastCrash) {
    this.nanos = nanos;
    this.listener = listener;
    this.lockOut = lockOut;
    this.lastCrash = lastCrash.orElse("");
  }

  @Override
  public Wait waiting(String name) {
    ProgressWait wait = new ProgressWait(Objects.requireNonNull(name, "name"), nanos.getAsLong());
    synchronized (open) {
      open.add(wait);
    }
    return wait;
  }

  @Override
  public void home(String summary) {
    if (!home.complete(summary)) {
      listener.homeAgain(summary);
    }
  }

  @Override
  public void fatal(String organ, Throwable cause) {
    if (!end(new Ending.Fatal(organ, cause))) {
      listener.consequence(organ, cause);
    }
  }

  @Override
  public void powerOff(String reason) {
    listener.poweringOff(Objects.requireNonNull(reason, "reason"));
    stop(StopReason.POWER_OFF);
  }

  @Override
  public void restart(String reason) {
    listener.restarting(Objects.requireNonNull(reason, "reason"));
    stop(StopReason.PROCESS_RESTART, new Ending.Restart());
  }

  @Override
  public Optional<String> lockOut() {
    return lockOut.get();
  }

  @Override
  public Optional<String> lastCrash() {
    return lastCrash.isEmpty() ? Optional.empty() : Optional.of(lastCrash);
  }

  @Override
  public StopReason stopReason() {
    return stopReason.get();
  }

  /** Asks the node to stop. A power off is not taken back by a restart that is asked for later. */
  void stop(StopReason wanted) {
    stop(wanted, new Ending.Asked(wanted));
  }

  private void stop(StopReason wanted, Ending with) {
    stopReason.accumulateAndGet(wanted, (old, now) -> old.compareTo(now) > 0 ? old : now);
    end(with);
  }

  /**
   * Sets the reason with which a fatal error stops the organs: their children stay for the next
   * start.
   */
  void stopsAfterFatal() {
    stopReason.compareAndSet(StopReason.CODE_REPLACED, StopReason.PROCESS_RESTART);
  }

  /** Waits for a result; returns none if it takes longer. */
  static <T> Optional<T> within(Duration limit, CompletableFuture<T> result)
      throws InterruptedException {
    try {
      return Optional.of(result.get(limit.toMillis(), TimeUnit.MILLISECONDS));
    } catch (TimeoutException e) {
      return Optional.empty();
    } catch (ExecutionException e) {
      throw new IllegalStateException("it has a result, and is never exceptional", e);
    }
  }

  CompletableFuture<Ending> ending() {
    return ending;
  }

  /** Returns why the node stops; an interrupted launcher stops it without another reason. */
  Ending endingNow() {
    return ending.getNow(new Ending.Asked(stopReason()));
  }

  boolean isHome() {
    return home.isDone();
  }

  CompletableFuture<String> home() {
    return home;
  }

  @Override
  public List<OpenWait> openWaits() {
    long now = nanos.getAsLong();
    synchronized (open) {
      return open.stream().map(wait -> wait.view(now)).toList();
    }
  }

  private boolean end(Ending with) {
    return ending.complete(with);
  }

  private final class ProgressWait implements Wait {
    private final String name;
    private final long since;
    private volatile String detail = "";

    ProgressWait(String name, long since) {
      this.name = name;
      this.since = since;
    }

    OpenWait view(long now) {
      return new OpenWait(name, detail, Duration.ofNanos(now - since));
    }

    @Override
    public void detail(String text) {
      detail = Objects.requireNonNull(text, "text");
    }

    @Override
    public void done(String result) {
      finish(true, Objects.requireNonNull(result, "result"));
    }

    @Override
    public void close() {
      finish(false, detail);
    }

    private void finish(boolean worthIt, String result) {
      boolean first;
      synchronized (open) {
        first = open.remove(this);
      }
      if (first) {
        Duration lasted = Duration.ofNanos(nanos.getAsLong() - since);
        listener.ended(new Ended(name, lasted, worthIt, result));
      }
    }
  }
}
