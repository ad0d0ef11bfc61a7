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
 * Keeps beside the store what must outlive the process about swaps: the one under way, how the
 * earlier ones ended, which generations failed, and how often the process was started without
 * coming up.
 *
 * <p>The launcher and the running node use it one after the other or for different files; each file
 * is replaced whole.
 */
public final class SwapNotes {
  /** Many more than a person reads, few enough to be written whole each time. */
  private static final int HISTORY = 200;

  /** As many as a person tries in a row; the oldest is forgotten first. */
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
   * @param store beside which they lie
   * @return the notes
   */
  public static SwapNotes of(PluginStore store) {
    return new SwapNotes(store.folder());
  }

  /**
   * Removes what interrupted writes have left. Only for the launcher, before the node runs.
   *
   * @throws IOException if the folder can not be written
   */
  public void sweep() throws IOException {
    AtomicFile.sweep(journal.getParent(), Duration.ZERO);
  }

  /**
   * Writes down that a swap is under way, also for a start after a loss of power.
   *
   * @param swap with the stage as its outcome
   * @throws IOException if it can not be written
   */
  public synchronized void underWay(SwapRecord swap) throws IOException {
    write(journal, List.of(swap.encode()), Durability.POWER_LOSS);
  }

  /**
   * Writes down how far the swap under way has come. After a loss of power a former stage may be
   * noted, which changes nothing about what is done then: each forced write makes the database of
   * the cluster, which is on the same disk, wait.
   *
   * @param swap with the stage as its outcome
   * @throws IOException if it can not be written
   */
  public synchronized void furtherOn(SwapRecord swap) throws IOException {
    write(journal, List.of(swap.encode()), Durability.PROCESS);
  }

  /**
   * Returns the swap that is under way, or was when the process ended.
   *
   * @return empty if there is none
   * @throws IOException if it can not be read
   */
  public synchronized Optional<SwapRecord> underWay() throws IOException {
    Optional<SwapRecord> noted = records(journal).stream().findFirst();
    return noted.isPresent() && hasEnded(noted.get()) ? Optional.empty() : noted;
  }

  /** After a loss of power the journal may still be there of a swap whose end was written. */
  private boolean hasEnded(SwapRecord swap) throws IOException {
    return records(history).stream()
        .anyMatch(each -> each.began().equals(swap.began()) && each.what().equals(swap.what()));
  }

  /**
   * Writes down how a swap ended; none is under way then.
   *
   * @param swap with its outcome
   * @throws IOException if it can not be written
   */
  public synchronized void ended(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(records(history));
    all.add(swap);
    try {
      write(history, lines(all, HISTORY));
    } finally {
      // Without a history, too, the swap has ended: the next start has nothing to undo.
      delete(journal);
    }
  }

  /**
   * Returns how swaps ended.
   *
   * @return the oldest first
   * @throws IOException if it can not be read
   */
  public synchronized List<SwapRecord> history() throws IOException {
    return records(history);
  }

  /**
   * Remembers that the node was not well with a generation.
   *
   * @param swap that wanted it, with the reason
   * @throws IOException if it can not be written
   */
  public synchronized void failed(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(records(failed));
    all.removeIf(each -> each.target().equals(swap.target()));
    all.add(swap);
    write(failed, lines(all, FAILED));
  }

  /**
   * Finds out whether a generation has failed before.
   *
   * @param fingerprint of the generation
   * @return the swap that wanted it and why it failed; empty if it never did
   * @throws IOException if it can not be read
   */
  public synchronized Optional<SwapRecord> failed(Digest fingerprint) throws IOException {
    return records(failed).stream().filter(each -> each.target().equals(fingerprint)).findFirst();
  }

  /**
   * Remembers that the process ended during a swap, without being asked to.
   *
   * @param swap that was under way
   * @return how often that has happened to swaps that want the same generation
   * @throws IOException if it can not be written
   */
  public synchronized long cutOff(SwapRecord swap) throws IOException {
    List<SwapRecord> all = new ArrayList<>(records(cutOff));
    all.add(swap);
    write(cutOff, lines(all, FAILED));
    return all.stream().filter(each -> each.target().equals(swap.target())).count();
  }

  /**
   * Returns the generations with which the node was not well, and which are not tried again.
   *
   * @return the swaps that wanted them, the oldest first
   * @throws IOException if they can not be read
   */
  public synchronized List<SwapRecord> failed() throws IOException {
    return records(failed);
  }

  /**
   * Forgets that a generation failed, and that swaps to it were cut off.
   *
   * @param fingerprint of the generation
   * @throws IOException if it can not be written
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
   * @param generation it is started with
   * @return how many starts with it there were before without coming up
   * @throws IOException if it can not be written
   */
  public synchronized int start(long generation) throws IOException {
    String[] words = lines(starts).stream().findFirst().orElse("").split(" ", -1);
    boolean same = words.length == 2 && words[0].equals(Long.toString(generation));
    int before = same && words[1].matches("[0-9]{1,9}") ? Integer.parseInt(words[1]) : 0;
    write(starts, List.of(generation + " " + (before + 1)));
    return before;
  }

  /**
   * Notes that the process came up, or was stopped on request.
   *
   * @throws IOException if it can not be written
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

  /** Reads records; a line that is garbled is left out, since these files decide about no data. */
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

  /** Reads lines; a byte that is no text garbles its line alone. */
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
