package dev.polis.rpc.audit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Reads one file of the log line by line and checks its chain. */
final class AuditScan {
  /** Begins the text of a file's first record, before the mark of the record that it follows. */
  static final String FOLLOWS = "follows ";

  /** The most reported faults; so many show the damage of a file. */
  private static final int MOST_FAULTS = 100;

  private final String name;
  private final Consumer<AuditRecord> reader;
  private final List<AuditFault> faults = new ArrayList<>();
  private AuditMark follows; // null until the first line was read
  private AuditMark stated = AuditMark.ORIGIN;
  private AuditMark sound = AuditMark.ORIGIN;
  private long line;
  private long offset;
  private long soundBytes;
  private long linksBehindFault;

  private AuditScan(String name, Consumer<AuditRecord> reader) {
    this.name = name;
    this.reader = reader;
  }

  /**
   * Reads a file.
   *
   * @param reader receives each readable record, also one with a wrong hash
   */
  static AuditScan of(Path file, Consumer<AuditRecord> reader) throws IOException {
    AuditScan scan = new AuditScan(file.getFileName().toString(), reader);
    try (InputStream in = Files.newInputStream(file)) {
      scan.read(new AuditLines(in));
    }
    return scan;
  }

  private void read(AuditLines lines) throws IOException {
    for (Optional<AuditLines.Line> next = lines.next(); next.isPresent(); next = lines.next()) {
      line++;
      offset += next.get().bytes();
      if (next.get().complete()) {
        read(next.get().text());
      } else {
        fault(() -> "the file ends within this line");
      }
    }
  }

  private void read(String text) {
    Optional<AuditRecord> parsed = AuditRecord.parse(text);
    if (parsed.isEmpty()) {
      fault(() -> "this is no record");
      return;
    }
    AuditRecord record = parsed.get();
    if (line == 1) {
      first(record);
    }
    check(record, text);
    stated = record.mark();
    if (faults.isEmpty()) {
      sound = stated;
      soundBytes = offset;
    }
    reader.accept(record);
  }

  private void first(AuditRecord record) {
    try {
      if (record.kind() != AuditKind.FILE || !record.text().startsWith(FOLLOWS)) {
        throw new IllegalArgumentException("the first record is none that begins a file");
      }
      follows = AuditMark.parse(record.text().substring(FOLLOWS.length()).split(" ", 2)[0]);
      stated = follows;
      sound = follows;
    } catch (IllegalArgumentException e) {
      fault(e::getMessage);
    }
  }

  private void check(AuditRecord record, String text) {
    if (record.follows(stated, text)) {
      linksBehindFault += faults.isEmpty() ? 0 : 1;
      return;
    }
    long before = stated.sequence();
    long sequence = record.mark().sequence();
    fault(
        () ->
            sequence == before + 1
                ? "record %d was changed, or the one before it".formatted(sequence)
                : "record %d stands where record %d belongs".formatted(sequence, before + 1));
  }

  /** Notes a fault; a file of another chain has one in each line, so the text is made for few. */
  private void fault(Supplier<String> reason) {
    if (faults.size() < MOST_FAULTS) {
      faults.add(new AuditFault(name, line, reason.get()));
    }
  }

  /** Returns the record before the file, as its first line states; empty if it states none. */
  Optional<AuditMark> follows() {
    return Optional.ofNullable(follows);
  }

  /** Returns the last record before the first fault. */
  AuditMark sound() {
    return sound;
  }

  /** Returns the last readable record, with the stated hash, even a wrong one. */
  AuditMark stated() {
    return stated;
  }

  /** Returns the length of the file up to the first fault. */
  long soundBytes() {
    return soundBytes;
  }

  /** Returns the length of the file. */
  long bytes() {
    return offset;
  }

  List<AuditFault> faults() {
    return List.copyOf(faults);
  }

  /**
   * Returns whether the bytes after the first fault are an interrupted append: no record there
   * follows another.
   *
   * @param longestWrite the most that one append writes
   */
  boolean torn(long longestWrite) {
    return !faults.isEmpty() && linksBehindFault == 0 && offset - soundBytes <= longestWrite;
  }
}
