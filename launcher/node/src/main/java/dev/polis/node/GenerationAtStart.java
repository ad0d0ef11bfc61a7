package dev.polis.node;

import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Decides which generation a process starts with: the current one, or the one before it if the
 * process did not come up with the current one several times in a row. It also closes the journal
 * of a swap that was cut off by the end of the process.
 */
final class GenerationAtStart {
  /** Once may be a power cut and twice bad luck. */
  static final int FAILED_STARTS = 3;

  /** Once may be a power cut; a plugin that fills the heap ends the process each time. */
  static final int CUT_OFFS = 2;

  private final PluginStore store;
  private final SwapNotes notes;
  private final Consumer<String> screen;

  /**
   * @param screen receives a line for each thing a person should know
   */
  GenerationAtStart(PluginStore store, Consumer<String> screen) {
    this.store = store;
    this.notes = SwapNotes.of(store);
    this.screen = screen;
  }

  /**
   * Chooses, and counts this start until {@link #cameUp}.
   *
   * @param current the generation that counts
   * @return the generation to run
   * @throws PluginStoreException if the store is damaged
   */
  Generation choose(Generation current) throws PluginStoreException {
    try {
      closeJournal(current);
      int failed = notes.start(current.number());
      Optional<Generation> before = failed < FAILED_STARTS ? Optional.empty() : wayBack(current);
      if (before.isEmpty()) {
        return current;
      }
      return fallBack(current, before.get(), failed);
    } catch (IOException e) {
      // A node on a full disk starts all the same; only the count is lost.
      screen.accept("starts are not counted, the plugin store cannot be written: " + e);
      return current;
    }
  }

  private void closeJournal(Generation current) throws IOException, PluginStoreException {
    notes.sweep();
    Optional<SwapRecord> open = notes.underWay();
    if (open.isEmpty()) {
      return;
    }
    while (open.isPresent()) {
      close(open.get(), current);
      open = notes.underWay();
    }
    store.collect();
  }

  private void close(SwapRecord swap, Generation current) throws IOException {
    if (swap.outcome().equals(SwapRecord.COULD_NOT_REVERT)) {
      // The swap did not end the process, so it does not count as cut off.
      ended(
          swap,
          SwapRecord.CUT_OFF,
          "what could not be reverted ended with the process; generation %d runs"
              .formatted(current.number()));
      return;
    }
    boolean committed = swap.target().equals(current.fingerprint());
    String reason =
        committed
            ? "the process ended after generation %d was committed".formatted(current.number())
            : "the process ended during the swap (%s); generation %d runs"
                .formatted(swap.outcome(), current.number());
    if (!committed) {
      rememberCutOff(swap);
    }
    ended(swap, committed ? SwapRecord.APPLIED : SwapRecord.CUT_OFF, reason);
  }

  private void ended(SwapRecord swap, String outcome, String reason) throws IOException {
    notes.ended(swap.as(outcome, reason));
    screen.accept("the %s, ordered by %s: %s".formatted(swap.what(), swap.who(), reason));
  }

  /**
   * Refuses a swap from now on that has ended the process more than once: another order of it would
   * end the process again.
   */
  private void rememberCutOff(SwapRecord swap) throws IOException {
    long times = notes.cutOff(swap);
    if (times >= CUT_OFFS) {
      notes.failed(
          swap.as(
              "failed",
              "the process ended %d times during this swap, the last time at the stage \"%s\""
                  .formatted(times, swap.outcome())));
    }
  }

  /** Returns the generation before, if this process can run it. */
  private Optional<Generation> wayBack(Generation current)
      throws IOException, PluginStoreException {
    return store
        .previous()
        .filter(previous -> previous.origin().equals(current.origin()))
        .filter(previous -> !previous.fingerprint().equals(current.fingerprint()));
  }

  private Generation fallBack(Generation current, Generation before, int failed)
      throws IOException, PluginStoreException {
    Generation next = store.commit(before.origin(), before.plugins(), before.configuration());
    String reason =
        "the node did not come up in %d starts with generation %d, so generation %d with the content of %d runs"
            .formatted(failed, current.number(), next.number(), before.number());
    SwapRecord record =
        SwapRecord.ofStart(
            Instant.now(), current, SwapRecord.FELL_BACK, reason, difference(current, before));
    notes.failed(record);
    notes.ended(record);
    notes.start(next.number());
    screen.accept(reason);
    return next;
  }

  /** Returns the names of the plugins that two generations do not have in common. */
  private static Set<String> difference(Generation one, Generation other) {
    return Stream.concat(
            one.plugins().stream().filter(plugin -> !other.plugins().contains(plugin)),
            other.plugins().stream().filter(plugin -> !one.plugins().contains(plugin)))
        .map(StoredPlugin::symbolicName)
        .collect(Collectors.toSet());
  }

  /** Records that the process came up, or stopped on request. */
  void cameUp() {
    try {
      notes.cameUp();
    } catch (IOException e) {
      screen.accept("this start stays counted as a failed one: " + e);
    }
  }
}
