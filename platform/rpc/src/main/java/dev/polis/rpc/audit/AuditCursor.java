package dev.polis.rpc.audit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads the records of a log in their order, a few at a time, and remembers its position. One
 * thread uses it; it holds no file open between two reads.
 */
public final class AuditCursor {
  /**
   * Is a record with the check of its place in the chain.
   *
   * @param record the record
   * @param broken true if it does not follow the record before: one of them was changed, or a
   *     record between them was removed
   */
  public record Entry(AuditRecord record, boolean broken) {}

  private final AuditFolder folder;
  private final long after;
  private Path file; // null before the first read
  private long offset;
  private AuditMark before; // null until a record was read

  /**
   * Makes a cursor.
   *
   * @param after the number of the last record to skip; 0 to begin with the oldest record
   */
  public AuditCursor(AuditFolder folder, long after) {
    this.folder = folder;
    this.after = after;
  }

  /**
   * Reads the next records.
   *
   * @param upTo number of the last record that may be read
   * @param most the largest number of records
   * @return empty if there are none at present
   */
  public List<Entry> next(long upTo, int most) throws IOException {
    List<Entry> entries = new ArrayList<>();
    while (entries.size() < most) {
      Optional<Path> source = source();
      if (source.isEmpty()) {
        break;
      }
      file = source.get();
      if (read(upTo, most, entries)) {
        continue;
      }
      Optional<Path> next = following();
      if (next.isEmpty() || entries.size() == most) {
        break;
      }
      file = next.get();
      offset = 0;
    }
    return entries;
  }

  private Optional<Path> source() throws IOException {
    if (file != null) {
      return Optional.of(file);
    }
    List<Path> files = folder.files();
    return files.isEmpty()
        ? Optional.empty()
        : Optional.of(files.get(AuditFolder.begin(files, after)));
  }

  private Optional<Path> following() throws IOException {
    long number = AuditFolder.number(file);
    return folder.files().stream().filter(each -> AuditFolder.number(each) > number).findFirst();
  }

  /** Reads lines of the present file; returns whether it may have more. */
  private boolean read(long upTo, int most, List<Entry> entries) throws IOException {
    int had = entries.size();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ).position(offset);
        InputStream in = Channels.newInputStream(channel)) {
      AuditLines lines = new AuditLines(in);
      while (entries.size() < most) {
        Optional<AuditLines.Line> line = lines.next().filter(AuditLines.Line::complete);
        if (line.isEmpty()) {
          break;
        }
        Optional<AuditRecord> record = AuditRecord.parse(line.get().text());
        if (record.isPresent() && record.get().mark().sequence() > upTo) {
          return false;
        }
        record.ifPresent(each -> add(each, line.get().text(), entries));
        offset += line.get().bytes();
      }
    } catch (NoSuchFileException deleted) {
      return false;
    }
    return entries.size() > had && entries.size() < most;
  }

  private void add(AuditRecord record, String line, List<Entry> entries) {
    boolean broken = before != null && !record.follows(before, line);
    before = record.mark();
    if (record.mark().sequence() > after) {
      entries.add(new Entry(record, broken));
    }
  }
}
