package dev.polis.rpc.audit;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Reads one file of the log line by line and checks its chain. It holds one line in memory, however
 * long the file is.
 */
final class AuditScan {
  /** Begins the text of a file's first record, before the mark of the record that it follows. */
  static final String FOLLOWS = "follows ";

  /** The columns of a record have 1,200 characters each at most, of up to four bytes. */
  static final int LONGEST_LINE = 32 << 10;

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
    try (InputStream in = new BufferedInputStream(Files.newInputStream(file), 1 << 16)) {
      scan.read(in);
    }
    return scan;
  }

  private void read(InputStream in) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(1 << 10);
    boolean tooLong = false;
    long length = 0;
    for (int c = in.read(); c >= 0; c = in.read()) {
      length++;
      if (c != '\n') {
        tooLong |= bytes.size() >= LONGEST_LINE;
        if (!tooLong) {
          bytes.write(c);
        }
        continue;
      }
      line(tooLong ? Optional.empty() : parsed(bytes), length);
      bytes.reset();
      tooLong = false;
      length = 0;
    }
    if (length > 0) {
      line++;
      offset += length;
      fault("the file ends within this line");
    }
  }

  private static Optional<AuditRecord> parsed(ByteArrayOutputStream bytes) {
    return AuditRecord.parse(bytes.toString(StandardCharsets.UTF_8));
  }

  private void line(Optional<AuditRecord> parsed, long length) {
    line++;
    offset += length;
    if (parsed.isEmpty()) {
      fault("this is no record");
      return;
    }
    AuditRecord record = parsed.get();
    if (line == 1) {
      first(record);
    }
    check(record);
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
      fault(e.getMessage());
    }
  }

  private void check(AuditRecord record) {
    if (record.follows(stated)) {
      linksBehindFault += faults.isEmpty() ? 0 : 1;
      return;
    }
    fault(
        record.mark().sequence() == stated.sequence() + 1
            ? "record %d was changed, or the one before it".formatted(record.mark().sequence())
            : "record %d stands where record %d belongs"
                .formatted(record.mark().sequence(), stated.sequence() + 1));
  }

  private void fault(String reason) {
    if (faults.size() < MOST_FAULTS) {
      faults.add(new AuditFault(name, line, reason));
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
