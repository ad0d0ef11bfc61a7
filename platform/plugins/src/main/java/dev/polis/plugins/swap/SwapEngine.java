package dev.polis.plugins.swap;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoreFailure;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import org.osgi.framework.Bundle;

/**
 * Executes the swaps of one node, and the stops and starts of single bundles, one at a time. Usable
 * from any thread.
 */
public final class SwapEngine implements AutoCloseable {
  /** The time that the end of the node waits for a running swap. */
  private static final Duration CLOSE = Duration.ofSeconds(5);

  private final SwapParts parts;
  private final SwapSettings settings;
  private final Consumer<SwapStage> steps;
  private final ThreadFactory threads;
  private final InstantSource clock = InstantSource.system();

  /** The newest swap; empty before the first one. */
  private final MutableValue<SwapStatus> newest = new MutableValue<>();

  /** The bundles that earlier swaps could not remove. */
  private final Leftovers left;

  private final RetiredVersions retired;

  private long number;
  private boolean closed;

  /** The running operation; null if there is none. */
  private Running running;

  /**
   * Holds the running operation and the means to end it.
   *
   * @param swap true for a swap, which can be cancelled, and false for the stop or start of one
   *     bundle
   */
  private record Running(
      Thread thread, SwapCancel cancel, MutableValue<SwapStatus> status, boolean swap) {}

  /**
   * Creates an engine.
   *
   * @param parts the parts of the node that it uses
   * @param settings the limits of a swap
   */
  public SwapEngine(SwapParts parts, SwapSettings settings) {
    // No virtual threads: digests, manifests and classes keep the processor busy, and the few
    // carriers of virtual threads carry all calls.
    this(parts, settings, Thread.ofPlatform().name("swap-", 1).daemon().factory(), stage -> {});
  }

  /**
   * Creates an engine for a test that observes each stage.
   *
   * @param threads makes a thread for each swap
   * @param steps called after each stage, on the swapping thread
   */
  SwapEngine(
      SwapParts parts, SwapSettings settings, ThreadFactory threads, Consumer<SwapStage> steps) {
    this.parts = parts;
    this.settings = settings;
    this.threads = threads;
    this.steps = steps;
    this.retired = new RetiredVersions(parts.own(), settings.unloaded());
    this.left = new Leftovers(new FrameworkBundles(parts.context()), parts.own());
  }

  /**
   * Begins a swap. It continues whether or not its status is watched.
   *
   * @param order the order
   * @param options its options
   * @return its status, which ends with an outcome
   * @throws SwapRefusedException if another swap is running
   */
  public synchronized Value<SwapStatus> begin(SwapOrder order, SwapOptions options)
      throws SwapRefusedException {
    requireOpen();
    if (running != null) {
      SwapStatus now = running.status().peek().orElseThrow();
      throw new SwapRefusedException(
          "the %s, ordered by %s, is under way since %s (%s); wait for it%s"
              .formatted(
                  now.what(),
                  now.who(),
                  now.began(),
                  now.stages().isEmpty() ? "it has just begun" : now.stages().getLast().words(),
                  running.swap() ? ", or end it with \"plugin cancel\"" : ""));
    }
    Instant began = clock.instant();
    SwapStatus first =
        SwapStatus.begun(++number, order.words(), order.plugins(), options.who(), began);
    MutableValue<SwapStatus> status = new MutableValue<>(first);
    Thread thread = threads.newThread(() -> run(order, options, status));
    newest.set(first);
    running = new Running(thread, new SwapCancel(thread), status, true);
    try {
      thread.start();
    } catch (RuntimeException | Error e) {
      end(
          status,
          new SwapOutcome.Refused(
              "no thread can be started for it (%s); order it again when the machine has room for one"
                  .formatted(RootCauses.of(e))));
    }
    return status;
  }

  /**
   * Stops a bundle after the running operation.
   *
   * @param bundle the bundle of an organ or a role
   * @param who the caller
   * @return the reason of a failure, as a text for people; empty if the bundle has stopped
   * @throws SwapRefusedException if the node stops
   * @throws InterruptedException if interrupted; a running stop is interrupted too
   */
  public Optional<String> stop(Bundle bundle, String who)
      throws SwapRefusedException, InterruptedException {
    return moved(
        "stop of " + bundle.getSymbolicName(),
        bundle,
        who,
        () -> new FrameworkBundles(parts.context()).stop(bundle, settings.stop()));
  }

  /**
   * Starts a bundle after the running operation.
   *
   * @param bundle the bundle of an organ or a role
   * @param who the caller
   * @return the reason of a failure, as a text for people; empty if the bundle has started
   * @throws SwapRefusedException if it may not run, or the node stops
   * @throws InterruptedException if interrupted; a running start is interrupted too
   */
  public Optional<String> start(Bundle bundle, String who)
      throws SwapRefusedException, InterruptedException {
    return moved(
        "start of " + bundle.getSymbolicName(),
        bundle,
        who,
        () -> {
          requireTrusted(bundle);
          try {
            new FrameworkBundles(parts.context()).start(bundle, settings.start(), Optional::empty);
            return Optional.empty();
          } catch (SwapFailedException e) {
            return Optional.of(e.getMessage());
          }
        });
  }

  private void requireTrusted(Bundle bundle) throws SwapRefusedException {
    try {
      Optional<StoredPlugin> stored =
          parts
              .store()
              .current()
              .flatMap(each -> each.find(bundle.getSymbolicName()))
              .filter(each -> each.version().equals(bundle.getVersion().toString()));
      if (stored.isPresent()) {
        new SwapTargets(parts.store(), parts.check()).requireTrusted(List.of(stored.get()));
      }
    } catch (IOException e) {
      throw new SwapRefusedException(StoreFailure.words(e), e);
    } catch (PluginStoreException e) {
      throw new SwapRefusedException(e.getMessage(), e);
    }
  }

  private interface Move {
    Optional<String> make() throws SwapRefusedException, InterruptedException;
  }

  private Optional<String> moved(String what, Bundle bundle, String who, Move move)
      throws SwapRefusedException, InterruptedException {
    Instant began = clock.instant();
    synchronized (this) {
      while (running != null) {
        wait();
      }
      requireOpen();
      Thread thread = Thread.currentThread();
      SwapStatus status =
          SwapStatus.begun(number, what, Set.of(bundle.getSymbolicName()), who, began);
      running = new Running(thread, new SwapCancel(thread), new MutableValue<>(status), false);
    }
    try {
      if (bundle.getState() == Bundle.UNINSTALLED) {
        throw new SwapRefusedException(
            "%s %s was replaced meanwhile; \"bundle list\" shows what runs"
                .formatted(bundle.getSymbolicName(), bundle.getVersion()));
      }
      return move.make();
    } finally {
      over();
    }
  }

  private synchronized void over() {
    running = null;
    notifyAll();
  }

  private void requireOpen() throws SwapRefusedException {
    if (closed) {
      throw new SwapRefusedException("the node stops; give the order again when it is back");
    }
  }

  private synchronized Running running() {
    return running;
  }

  private void run(SwapOrder order, SwapOptions options, MutableValue<SwapStatus> status) {
    String ordered = "%s by %s".formatted(order.words(), options.who());
    SwapOutcome outcome =
        new SwapOutcome.CouldNotRevert("the swap was interrupted during its revert");
    try {
      parts.audit().note(ordered + (options.dryRun() ? ": dry run" : ": begins"));
      outcome = carriedOut(order, options, status);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      outcome = new SwapOutcome.CouldNotRevert("the swap failed: " + RootCauses.of(e));
    } finally {
      // After any failure the next swap may begin, and waiting callers get the end of this one.
      end(status, outcome);
    }
    parts.audit().note(ordered + ": " + outcome.name() + ": " + outcome.reason());
  }

  private SwapOutcome carriedOut(
      SwapOrder order, SwapOptions options, MutableValue<SwapStatus> status)
      throws InterruptedException {
    SwapRun run =
        new SwapRun(
            parts,
            settings,
            record(status.peek().orElseThrow()),
            running().cancel(),
            left,
            retired,
            stage -> set(status, stage));
    SwapOutcome outcome = run.run(order, options);
    if (!(outcome instanceof SwapOutcome.Applied)) {
      collect();
    }
    return options.dryRun() ? outcome : noted(outcome, run.record());
  }

  /** Deletes the files of an order that are not needed afterwards. */
  private void collect() {
    try {
      parts.store().collect();
    } catch (IOException e) {
      parts.audit().note("the store cannot be tidied up: " + StoreFailure.words(e));
    } catch (PluginStoreException e) {
      parts.audit().note("the store cannot be tidied up: " + e.getMessage());
    }
  }

  private SwapRecord record(SwapStatus first) {
    return new SwapRecord(
        first.began(),
        first.who(),
        first.what(),
        0,
        SwapRecord.NO_TARGET,
        "begun",
        "",
        first.plugins());
  }

  private void set(MutableValue<SwapStatus> status, SwapStage stage) {
    newest.set(status.update(now -> now.orElseThrow().with(stage)));
    steps.accept(stage);
  }

  private synchronized void end(MutableValue<SwapStatus> status, SwapOutcome outcome) {
    // A watcher of the end may order the next swap at once, which begins after this method.
    over();
    newest.set(status.update(now -> now.orElseThrow().ended(outcome)));
  }

  private SwapOutcome noted(SwapOutcome outcome, SwapRecord record) {
    try {
      SwapNotes.of(parts.store()).ended(record.as(outcome.name(), outcome.reason()));
      return outcome;
    } catch (IOException e) {
      String also = "the history cannot be written: " + StoreFailure.words(e);
      parts.audit().note(also);
      return outcome instanceof SwapOutcome.Applied applied
          ? new SwapOutcome.Applied(applied.generation(), joined(applied.reason(), also))
          : outcome;
    }
  }

  private static String joined(String one, String other) {
    return one.isEmpty() ? other : one + "; " + other;
  }

  /**
   * Cancels the running swap, which ends at its present stage.
   *
   * @param who the caller
   * @return the cancelled order
   * @throws SwapRefusedException if no swap is running, or it is too late
   */
  public String cancel(String who) throws SwapRefusedException {
    Running now = running();
    if (now == null || !now.swap()) {
      throw new SwapRefusedException("no swap is under way");
    }
    String what = now.status().peek().orElseThrow().what();
    if (!now.cancel().cancel(who)) {
      throw new SwapRefusedException(
          "the %s can no longer be cancelled: the node commits or reverts it now; \"plugin rollback\" reverts it afterwards"
              .formatted(what));
    }
    return what;
  }

  /**
   * Returns the newest swap.
   *
   * @return empty before the first swap
   */
  public Value<SwapStatus> newest() {
    return newest;
  }

  /**
   * Returns the ends of swaps.
   *
   * @return the records, the oldest first
   * @throws IOException if it cannot be read
   */
  public List<SwapRecord> history() throws IOException {
    return SwapNotes.of(parts.store()).history();
  }

  /**
   * Returns the current generation.
   *
   * @return empty if there is none; a running node always has one
   * @throws IOException if it cannot be read
   * @throws PluginStoreException if it is damaged
   */
  public Optional<Generation> generation() throws IOException, PluginStoreException {
    return parts.store().current();
  }

  /**
   * Returns the configuration keys of the current generation's bundles.
   *
   * @return all keys
   * @throws IOException if a bundle cannot be read
   * @throws PluginStoreException if the generation is damaged
   */
  public ConfigurationKeys keys() throws IOException, PluginStoreException {
    return new SwapTargets(parts.store(), parts.check())
        .keys(parts.store().current().orElseThrow());
  }

  /**
   * Returns the configurations of the command line.
   *
   * @return the configurations
   */
  public ConfigurationSet commandLine() {
    return parts.commandLine();
  }

  /** Ends the engine with the node; the next start undoes a running swap. */
  @Override
  public void close() {
    Running now;
    synchronized (this) {
      closed = true;
      now = running;
    }
    left.close();
    retired.close();
    if (now == null || !now.swap()) {
      return;
    }
    now.cancel().cancel("the end of the node");
    try {
      now.thread().join(CLOSE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
