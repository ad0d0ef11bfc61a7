package dev.polis.plugins.store;

import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.Mode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Records swaps beside the store: the running one, the ends of earlier ones, failed generations,
 * and unsuccessful starts of the process.
 *
 * <p>The launcher and the running node use it one after the other or for different files; each
 * write replaces a whole file.
 */
public final class SwapNotes {
  /** The most records of the history: more than a person reads, and few enough for one write. */
  private static final int HISTORY = 200;

  /**
   * The most failed generations: as many as a person tries in a row; the oldest is dropped first.
   */
  private static final int FAILED = 50;

  private final Path journal;
  private final Path history;
  private final Path failed;
  private final Path cutOff;
  private final Path starts;

  private SwapNotes(Path folder) {
    journal = folder.resolve("swap");
    history = folder.resolve("history");
    failed = folder.resolve("failed");
    cutOff = folder.resolve("cut-off");
    starts = folder.resolve("starts");
  }

  /**
   * Opens the notes of a store.
   *
   * @param store the store
   * @return the notes
   */
  public static SwapNotes of(PluginStore store) {
    return new SwapNotes(store.folder());
  }

  /**
   * Removes the temporary files of interrupted writes. Only the launcher calls it, before the node
   * runs.
   *
   * @throws IOException if the folder cannot be written
   */
  public void sweep() throws IOException {
    AtomicFile.sweep(journal.getParent(), Duration.ZERO);
  }

  /**
   * Records a running swap so that it survives a loss of power.
   *
   * @param swap with the stage as its outcome
   * @throws IOException if the write fails
   */
  public synchronized void underWay(SwapRecord swap) throws IOException {
    write(journal, lines(besideOpen(swap), FAILED), Durability.POWER_LOSS);
  }

  /**
   * Records the progress of the running swap. The write is not forced, since a forced write delays
   * the cluster's database on the same disk. After a loss of power the note may have an earlier
   * stage, which leads to the same recovery.
   *
   * @param swap with the stage as its outcome
   * @throws IOException if the write fails
   */
  public synchronized void furtherOn(SwapRecord swap) throws IOException {
    write(journal, lines(besideOpen(swap), FAILED), Durability.PROCESS);
  }

  /** Returns a swap with the earlier ones that could not be reverted, the oldest first. */
  private List<SwapRecord> besideOpen(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(open(swap));
    all.add(swap);
    return all;
  }

  /** Returns the swaps other than this one that could not be reverted. */
  private List<SwapRecord> open(SwapRecord swap) throws IOException {
    return records(journal).stream()
        .filter(each -> each.outcome().equals(SwapRecord.COULD_NOT_REVERT) && !each.isOf(swap))
        .toList();
  }

  /**
   * Returns the oldest swap that has not ended: the running one, the one that was running when the
   * process ended, or one that could not be reverted.
   *
   * @return empty if there is none
   * @throws IOException if the read fails
   */
  public synchronized Optional<SwapRecord> underWay() throws IOException {
    List<SwapRecord> ends = records(history);
    return records(journal).stream().filter(each -> !hasEnded(each, ends)).findFirst();
  }

  /**
   * Returns whether the history has the end of this swap, whose journal may remain after a loss of
   * power.
   */
  private static boolean hasEnded(SwapRecord swap, List<SwapRecord> ends) {
    return ends.stream()
        .anyMatch(each -> each.isOf(swap) && !each.outcome().equals(SwapRecord.COULD_NOT_REVERT));
  }

  /**
   * Records the end of the running swap. The journal keeps a swap that could not be reverted, until
   * the next start of the process records another end of it.
   *
   * @param swap with its outcome
   * @throws IOException if the write fails
   */
  public synchronized void ended(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(records(history));
    all.add(swap);
    try {
      write(history, lines(all, HISTORY));
    } finally {
      // The swap has ended even without a history: the next start must undo nothing.
      close(swap);
    }
  }

  private void close(SwapRecord swap) throws IOException {
    List<SwapRecord> open =
        swap.outcome().equals(SwapRecord.COULD_NOT_REVERT) ? besideOpen(swap) : open(swap);
    if (open.isEmpty()) {
      delete(journal);
    } else {
      write(journal, lines(open, FAILED));
    }
  }

  /**
   * Returns the ends of swaps.
   *
   * @return the records, the oldest first
   * @throws IOException if the read fails
   */
  public synchronized List<SwapRecord> history() throws IOException {
    return records(history);
  }

  /**
   * Records that the node did not work with a generation.
   *
   * @param swap the swap to it, with the reason
   * @throws IOException if the write fails
   */
  public synchronized void failed(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(records(failed));
    all.removeIf(each -> each.target().equals(swap.target()));
    all.add(swap);
    write(failed, lines(all, FAILED));
  }

  /**
   * Returns whether a generation has failed before.
   *
   * @param fingerprint the fingerprint of the generation
   * @return the swap to it, with the reason of the failure; empty if it never failed
   * @throws IOException if the read fails
   */
  public synchronized Optional<SwapRecord> failed(Digest fingerprint) throws IOException {
    return records(failed).stream().filter(each -> each.target().equals(fingerprint)).findFirst();
  }

  /**
   * Records that the process ended unexpectedly during a swap.
   *
   * @param swap the running swap
   * @return the number of such ends for the same generation
   * @throws IOException if the write fails
   */
  public synchronized long cutOff(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(records(cutOff));
    all.add(swap);
    write(cutOff, lines(all, FAILED));
    return all.stream().filter(each -> each.target().equals(swap.target())).count();
  }

  /**
   * Returns the failed generations, which are not tried again.
   *
   * @return the swaps to them, the oldest first
   * @throws IOException if the read fails
   */
  public synchronized List<SwapRecord> failed() throws IOException {
    return records(failed);
  }

  /**
   * Removes the record that a generation failed, or that swaps to it were cut off.
   *
   * @param fingerprint the fingerprint of the generation
   * @throws IOException if the write fails
   */
  public synchronized void forgive(Digest fingerprint) throws IOException {
    for (Path file : List.of(failed, cutOff)) {
      List<SwapRecord> all = new ArrayList<>(records(file));
      if (all.removeIf(each -> each.target().equals(fingerprint))) {
        write(file, lines(all, FAILED));
      }
    }
  }

  /**
   * Counts a start of the process, until {@link #cameUp}.
   *
   * @param generation the generation of the start
   * @return the number of earlier starts with it that were unsuccessful
   * @throws IOException if the write fails
   */
  public synchronized int start(long generation) throws IOException {
    String[] words = lines(starts).stream().findFirst().orElse("").split(" ", -1);
    boolean same = words.length == 2 && words[0].equals(Long.toString(generation));
    int before = same && words[1].matches("[0-9]{1,9}") ? Integer.parseInt(words[1]) : 0;
    write(starts, List.of(generation + " " + (before + 1)));
    return before;
  }

  /**
   * Records that the start was successful, or that the process was stopped on request.
   *
   * @throws IOException if the write fails
   */
  public synchronized void cameUp() throws IOException {
    delete(starts);
  }

  private static void delete(Path file) throws IOException {
    if (Files.deleteIfExists(file)) {
      AtomicFile.forceEntry(file);
    }
  }

  private static List<String> lines(List<SwapRecord> records, int most) {
    return records.subList(Math.max(0, records.size() - most), records.size()).stream()
        .map(SwapRecord::encode)
        .toList();
  }

  /** Reads records, without garbled lines, since these files decide about no data. */
  private static List<SwapRecord> records(Path file) throws IOException {
    List<SwapRecord> records = new ArrayList<>();
    for (String line : lines(file)) {
      try {
        records.add(SwapRecord.decode(line));
      } catch (IllegalArgumentException garbled) {
        continue;
      }
    }
    return records;
  }

  /** Reads lines; an invalid byte garbles only its own line. */
  private static List<String> lines(Path file) throws IOException {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).lines().toList();
    } catch (NoSuchFileException never) {
      return List.of();
    }
  }

  private static void write(Path file, List<String> lines) throws IOException {
    write(file, lines, Durability.POWER_LOSS);
  }

  private static void write(Path file, List<String> lines, Durability durability)
      throws IOException {
    byte[] content = (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8);
    AtomicFile.replace(file, content, Mode.SECRET, durability);
  }
}
