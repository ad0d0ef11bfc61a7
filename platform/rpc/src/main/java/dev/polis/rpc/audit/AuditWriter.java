package dev.polis.rpc.audit;

import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Appends records to the newest file of a log and begins another file when it is full. One thread
 * uses it. After an exception its user closes and opens it again, which cuts off the unconfirmed
 * records.
 */
final class AuditWriter implements AutoCloseable {
  /** The largest write of one append; a torn end of a file is never longer. */
  static final int LONGEST_WRITE = 256 << 10;

  private final AuditFolder folder;
  private final AuditSettings settings;
  private FileChannel channel; // null until a file is open
  private long number;
  private AuditMark last;

  private AuditWriter(AuditFolder folder, AuditSettings settings) {
    this.folder = folder;
    this.settings = settings;
  }

  /**
   * Opens the log in an existing directory, and repairs the end of its newest file.
   *
   * @param confirmed the last record that is known to be on the disk; later ones are cut off.
   *     {@link Long#MAX_VALUE} if this is unknown
   */
  static AuditWriter open(AuditFolder folder, AuditSettings settings, long confirmed)
      throws IOException {
    AuditWriter writer = new AuditWriter(folder, settings);
    try {
      AtomicFile.sweep(folder.path(), Duration.ZERO);
      writer.resume(confirmed);
      return writer;
    } catch (IOException | RuntimeException e) {
      writer.close();
      throw e;
    }
  }

  private void resume(long confirmed) throws IOException {
    List<Path> files = folder.files();
    if (files.isEmpty()) {
      begin(1, AuditMark.ORIGIN, "");
      return;
    }
    Path newest = files.getLast();
    Cut cut = Cut.of(newest, confirmed);
    if (cut.damaged()) {
      begin(
          AuditFolder.number(newest) + 1,
          cut.last(),
          " " + newest.getFileName() + " is damaged: " + cut.reason());
      return;
    }
    if (cut.length() == 0) {
      beginAgain(files, cut);
      return;
    }
    number = AuditFolder.number(newest);
    last = cut.last();
    channel = appending(newest);
    if (cut.bytes() > 0) {
      channel.truncate(cut.length());
      note(
          "repaired %s: removed %d unconfirmed bytes after record %d (%s)"
              .formatted(newest.getFileName(), cut.bytes(), last.sequence(), cut.reason()));
    }
    // No caller waited for the unforced records of a former process; the next append forces them
    // too.
  }

  /** Writes the missing first line of the newest file. */
  private void beginAgain(List<Path> files, Cut cut) throws IOException {
    Path newest = files.getLast();
    AuditMark before =
        files.size() == 1
            ? AuditMark.ORIGIN
            : AuditScan.of(files.get(files.size() - 2), record -> {}).stated();
    begin(
        AuditFolder.number(newest),
        before,
        cut.bytes() == 0
            ? ""
            : " %d bytes that were not whole were cut off".formatted(cut.bytes()));
  }

  /**
   * Describes the repair of the newest file.
   *
   * @param last the record before the next new one
   * @param length the length of the file afterwards
   * @param bytes the number of removed bytes
   * @param damaged whether the file is damaged before its end, so that nothing is removed
   * @param reason the fault of the file
   */
  private record Cut(AuditMark last, long length, long bytes, boolean damaged, String reason) {
    static Cut of(Path file, long confirmed) throws IOException {
      long[] end = {0};
      AuditMark[] mark = {AuditMark.ORIGIN};
      AuditScan scan =
          AuditScan.of(
              file,
              record -> {
                if (record.mark().sequence() <= confirmed) {
                  end[0] += record.line().getBytes(StandardCharsets.UTF_8).length + 1;
                  mark[0] = record.mark();
                }
              });
      String reason =
          scan.faults().isEmpty()
              ? "written, not confirmed by the disk"
              : "line %d: %s"
                  .formatted(scan.faults().getFirst().line(), scan.faults().getFirst().reason());
      if (!scan.faults().isEmpty() && !scan.torn(LONGEST_WRITE)) {
        return new Cut(scan.stated(), scan.bytes(), 0, true, reason);
      }
      boolean all = end[0] >= scan.soundBytes();
      long length = all ? scan.soundBytes() : end[0];
      AuditMark last = all ? scan.sound() : mark[0];
      return new Cut(last, length, scan.bytes() - length, false, reason);
    }
  }

  /** Makes a file with its first line in one step, so that no file lacks one. */
  private void begin(long next, AuditMark before, String remark) throws IOException {
    Path file = folder.path().resolve(AuditFolder.name(next));
    AuditRecord first =
        new AuditRecord.Draft(
                Instant.now(), AuditKind.FILE, "", "", "", AuditScan.FOLLOWS + before + remark)
            .after(before);
    AtomicFile.replace(
        file,
        (first.line() + "\n").getBytes(StandardCharsets.UTF_8),
        Mode.SECRET,
        AtomicFile.Durability.POWER_LOSS);
    close();
    channel = appending(file);
    number = next;
    last = first.mark();
  }

  private static FileChannel appending(Path file) throws IOException {
    return FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  }

  private void note(String text) throws IOException {
    write(
        List.of(
            new AuditRecord.Draft(Instant.now(), AuditKind.NOTE, "", "", "", text).after(last)));
  }

  /**
   * Appends records and waits until they are on the disk.
   *
   * @return the last of them
   */
  AuditMark append(List<AuditRecord.Draft> drafts) throws IOException {
    if (channel.size() >= settings.fileBytes()) {
      begin(number + 1, last, "");
      deleteOldest();
    }
    List<AuditRecord> records = new ArrayList<>();
    AuditMark end = last;
    for (AuditRecord.Draft draft : drafts) {
      AuditRecord record = draft.after(end);
      records.add(record);
      end = record.mark();
    }
    write(records);
    channel.force(false);
    return last;
  }

  private void write(List<AuditRecord> records) throws IOException {
    StringBuilder lines = new StringBuilder();
    records.forEach(record -> lines.append(record.line()).append('\n'));
    ByteBuffer bytes = ByteBuffer.wrap(lines.toString().getBytes(StandardCharsets.UTF_8));
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
    last = records.getLast().mark();
  }

  private void deleteOldest() throws IOException {
    List<Path> files = folder.files();
    for (Path old : files.subList(0, Math.max(0, files.size() - settings.files()))) {
      Files.deleteIfExists(old);
    }
  }

  /** Returns the last record that was written. */
  AuditMark last() {
    return last;
  }

  @Override
  public void close() throws IOException {
    if (channel != null) {
      channel.close();
      channel = null;
    }
  }
}
