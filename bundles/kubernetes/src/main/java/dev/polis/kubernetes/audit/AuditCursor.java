package dev.polis.kubernetes.audit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads the records of the log in their order, a few at a time, and remembers its position. One
 * thread uses it; it holds no file open between two reads.
 */
final class AuditCursor {

  /** The longest part of a record for a reader: thousands of times the size of a usual record. */
  static final int SHOWN = 256 << 10;

  /**
   * The bytes of a batch; a client accepts 4 MiB, and the last record may exceed this by its part.
   */
  private static final int BATCH = 1 << 20;

  /** The number of attempts; after a rename the next one finds the new name. */
  private static final int LOOKS = 3;

  /**
   * Holds a record.
   *
   * @param text the record, or its beginning
   * @param cut how many of its bytes are omitted
   */
  record Record(String text, long cut) {}

  private final AuditFiles files;
  private AuditPlace place;

  /**
   * Creates a cursor.
   *
   * @param place to begin at
   */
  AuditCursor(AuditFiles files, AuditPlace place) {
    this.files = files;
    this.place = place;
  }

  /** Returns the place after the last read record. */
  AuditPlace place() {
    return place;
  }

  /** Reads the next records; empty if there are none now. */
  List<Record> next() throws IOException {
    for (int look = 1; look < LOOKS; look++) {
      List<AuditFiles.Part> all = files.all();
      Optional<List<Record>> records = next(all, index(all));
      if (records.isPresent()) {
        return records.get();
      }
    }
    // The file of this place is gone.
    place = AuditPlace.OLDEST;
    List<AuditFiles.Part> all = files.all();
    return next(all, 0).orElseGet(List::of);
  }

  /** Reads onwards from a file; empty if a file has changed its name or place meanwhile. */
  private Optional<List<Record>> next(List<AuditFiles.Part> all, int from) throws IOException {
    if (from < 0) {
      return Optional.empty();
    }
    List<Record> records = new ArrayList<>();
    for (int at = from; at < all.size() && records.isEmpty(); at++) {
      // A file with a successor no longer grows.
      boolean complete = at < all.size() - 1;
      if (!read(all.get(at), complete, records)) {
        return Optional.empty();
      }
    }
    return Optional.of(records);
  }

  /** Returns the index of the file of this place; negative if the file is gone. */
  private int index(List<AuditFiles.Part> all) throws IOException {
    for (int at = 0; at < all.size(); at++) {
      if (all.get(at).inode() == place.inode()) {
        return followsLine(all.get(at)) ? at : -1;
      }
    }
    return place.equals(AuditPlace.OLDEST) ? 0 : -1;
  }

  /**
   * Returns whether the place is in this file, since a new file may reuse the inode of a deleted
   * one.
   */
  private boolean followsLine(AuditFiles.Part part) throws IOException {
    if (place.offset() == 0) {
      return true;
    }
    try (InputStream in = part.open(place.offset() - 1)) {
      int before = in.read();
      // An unfinished record ends with its file.
      return before == '\n' || before >= 0 && in.read() < 0;
    } catch (NoSuchFileException renamed) {
      return false;
    }
  }

  /** Reads the present content; returns false if the file has another name now. */
  private boolean read(AuditFiles.Part part, boolean complete, List<Record> records)
      throws IOException {
    long offset = part.inode() == place.inode() ? place.offset() : 0;
    try (InputStream in = part.open(offset)) {
      if (!part.named()) {
        return false;
      }
      long sum = 0;
      Optional<Line> line = line(in, complete);
      while (line.isPresent()) {
        sum += line.get().length();
        records.add(line.get().record());
        line = sum < BATCH ? line(in, complete) : Optional.empty();
      }
      place = new AuditPlace(part.inode(), offset + sum);
      return true;
    } catch (NoSuchFileException renamed) {
      return false;
    }
  }

  /**
   * Is a line.
   *
   * @param length the length with the line feed
   */
  private record Line(Record record, long length) {}

  /** Reads a line; an unfinished line of a killed process counts if the file is complete. */
  private static Optional<Line> line(InputStream in, boolean complete) throws IOException {
    ByteArrayOutputStream shown = new ByteArrayOutputStream(1 << 10);
    long length = 0;
    int c = in.read();
    for (; c >= 0 && c != '\n'; c = in.read()) {
      length++;
      if (shown.size() < SHOWN) {
        shown.write(c);
      }
    }
    if (c < 0 && (length == 0 || !complete)) {
      return Optional.empty();
    }
    return Optional.of(
        new Line(
            new Record(shown.toString(StandardCharsets.UTF_8), length - shown.size()),
            length + (c < 0 ? 0 : 1)));
  }
}
