package dev.polis.ctl.local;

import java.io.PrintStream;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

/**
 * Prints the steps: on a terminal the oldest open one in a live line, elsewhere a line for one that
 * takes long, and everywhere a line for each that is done. Usable from several threads.
 */
final class Steps implements AutoCloseable {

  private static final String ERASE = "\r\u001b[K";

  /** A person notices an unchanged screen after this time. */
  private static final Duration LONG = Duration.ofSeconds(5);

  private static final Duration TICK = Duration.ofMillis(100);

  /** A step that is being waited for. */
  private final class Step {
    private final String what;
    private final long since = System.nanoTime();
    private boolean announced;

    Step(String what) {
      this.what = what;
    }

    String waiting() {
      return "waiting for %s (%s)".formatted(what, seconds(since));
    }
  }

  private final PrintStream screen;
  private final int columns;
  private final Duration patience;
  private final long began = System.nanoTime();
  private final Set<Step> open = new LinkedHashSet<>();
  private final Thread ticker;
  private String live = "";

  /**
   * Begins.
   *
   * @param screen where to print
   * @param columns the width of the terminal; 0 if there is none
   * @param patience how long one step may take
   */
  Steps(PrintStream screen, int columns, Duration patience) {
    this.screen = screen;
    this.columns = columns;
    this.patience = patience;
    this.ticker = Thread.ofVirtual().name("steps").start(this::tick);
  }

  /** Prints a line. The live line comes back with the next tick, for what is still awaited. */
  synchronized void line(String text) {
    erase();
    screen.println(text);
    screen.flush();
  }

  /** Returns the time since the beginning. */
  String total() {
    return seconds(began);
  }

  /** Returns what is waited for now, for a call that is interrupted. */
  synchronized Optional<String> present() {
    return open.stream().findFirst().map(Step::waiting);
  }

  /**
   * Waits for a result.
   *
   * @param what is waited for: a noun and "to be", such as "node 2 to be a voter"
   * @param done the line that is printed for the result, without its time
   * @param result looks for it, and fails if it cannot come any more
   * @param seen what there is instead, for the message of a wait that takes too long
   * @param remedy what the operator does next in that case
   */
  <T> T await(
      String what, Done<T> done, Callable<Optional<T>> result, Supplier<String> seen, String remedy)
      throws StepFailure, InterruptedException {
    Step step = open(what);
    try {
      while (true) {
        Optional<T> found = look(result);
        if (found.isPresent()) {
          close(step);
          Line line = done.line(found.get());
          line("✓ %s (%s)%s".formatted(line.text(), seconds(step.since), line.more()));
          return found.get();
        }
        if (System.nanoTime() - step.since > patience.toNanos()) {
          throw new StepFailure(
              "waited %d s for %s".formatted(patience.toSeconds(), what), seen.get(), remedy);
        }
        Thread.sleep(TICK);
      }
    } finally {
      close(step);
    }
  }

  private static <T> Optional<T> look(Callable<Optional<T>> result)
      throws StepFailure, InterruptedException {
    try {
      return result.call();
    } catch (StepFailure | InterruptedException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException("a look at a node throws nothing else", e);
    }
  }

  /** Makes the line of a result. */
  interface Done<T> {
    Line line(T result);
  }

  /**
   * The line of a step that is done.
   *
   * @param text what is true now
   * @param more stands behind the time
   */
  record Line(String text, String more) {
    static Line of(String text) {
      return new Line(text, "");
    }
  }

  private synchronized Step open(String what) {
    Step step = new Step(what);
    open.add(step);
    return step;
  }

  private synchronized void close(Step step) {
    open.remove(step);
  }

  private void tick() {
    try {
      while (true) {
        show();
        Thread.sleep(TICK);
      }
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void show() {
    if (columns == 0) {
      for (Step step : open) {
        if (!step.announced && System.nanoTime() - step.since > LONG.toNanos()) {
          step.announced = true;
          line(step.waiting());
        }
      }
      return;
    }
    String others = open.size() < 2 ? "" : "  and %d more".formatted(open.size() - 1);
    String text = present().map(waiting -> "… " + waiting + others).orElse("");
    erase();
    // One column stays free: a full line would wrap, and could not be erased any more.
    live = text.length() < columns ? text : text.substring(0, columns - 1);
    screen.print(live);
    screen.flush();
  }

  private void erase() {
    if (!live.isEmpty()) {
      screen.print(ERASE);
      live = "";
    }
  }

  private static String seconds(long since) {
    return String.format(Locale.ROOT, "%.1f s", (System.nanoTime() - since) / 1e9);
  }

  @Override
  public void close() {
    ticker.interrupt();
    try {
      ticker.join();
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      erase();
      screen.flush();
    }
  }
}
