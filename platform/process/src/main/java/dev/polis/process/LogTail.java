package dev.polis.process;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import dev.polis.files.AtomicFile;
import dev.polis.logtree.LineBuffer;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.convert.LineConverter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Follows a log file to which a child appends, and limits its size. Each call of {@link #poll}
 * delivers the complete lines since the last call, converted or raw, and saves the position, so
 * that the next reader continues there. After a kill -9 the lines of the last call may come twice,
 * but none is lost.
 *
 * <p>Rotation: once the file exceeds its limit and a poll finds no new line, this class copies it
 * to {@code .1} and truncates it. The child's descriptor stays valid, because it appends. A line
 * that the child writes in the microseconds between the last read and the truncation is lost; the
 * wait for a quiet poll makes this unlikely, and only a file of twice its limit is cut without the
 * wait. Renaming instead would lose nothing but needs the child to reopen, which most cannot.
 *
 * <p>For one thread at a time.
 */
public final class LogTail implements AutoCloseable {
  /** The most bytes of one read: a tenth of a millisecond from the page cache. */
  private static final int CHUNK = 64 << 10;

  /** The pause while there are lines: a line reaches its reader within a fifth of a second. */
  private static final Duration PACE = Duration.ofMillis(200);

  /** The pause after a second of silence: a line reaches its reader within a second. */
  private static final Duration QUIET_PACE = Duration.ofSeconds(1);

  /** The number of empty polls in a row that make that second of silence. */
  private static final int QUIET_POLLS = 5;

  private static final Gson GSON = new Gson();

  /** Holds the saved position; a shorter file has been truncated since. */
  private record Place(long offset) {}

  private final Path file;
  private final Path placeFile;
  private final long limit;
  private final LineConverter converter;
  private final Consumer<LogPayload> sink;
  private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK);
  private LineBuffer lines;
  private long offset;
  private long saved;
  private long lineStart;
  private int quietPolls;

  LogTail(
      Path file, Path placeFile, long limit, LineConverter converter, Consumer<LogPayload> sink) {
    this.file = file;
    this.placeFile = placeFile;
    this.limit = limit;
    this.converter = converter;
    this.sink = sink;
    this.lines = new LineBuffer(converter::convert, sink);
    this.offset = load();
    this.saved = offset;
    this.lineStart = offset;
  }

  /**
   * Delivers the new lines.
   *
   * @return the number of delivered bytes
   * @throws IOException if the log cannot be read or truncated
   */
  public long poll() throws IOException {
    long read = unchanged() ? 0 : read();
    quietPolls = read > 0 ? 0 : Math.min(QUIET_POLLS, quietPolls + 1);
    return read;
  }

  /** Returns the pause before the next poll. */
  public Duration pause() {
    return quietPolls < QUIET_POLLS ? PACE : QUIET_PACE;
  }

  /** Returns whether nothing was written; reading the length costs a tenth of opening the file. */
  private boolean unchanged() throws IOException {
    try {
      return Files.size(file) == offset && offset <= limit;
    } catch (NoSuchFileException notYet) {
      return false;
    }
  }

  private long read() throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      if (channel.size() < offset) {
        startOver();
      }
      long read = drain(channel);
      if (offset > 2 * limit || (read == 0 && offset > limit)) {
        read += rotate(channel);
      }
      save();
      return read;
    } catch (NoSuchFileException notYet) {
      return 0;
    }
  }

  /**
   * Delivers the rest of an ended process's log, with its unfinished last line.
   *
   * @throws IOException if the log cannot be read
   */
  public void finish() throws IOException {
    while (poll() > 0) {
      // Until no line is left.
    }
    lines.close();
    lines = new LineBuffer(converter::convert, sink);
    lineStart = offset;
    save();
  }

  private long drain(FileChannel channel) throws IOException {
    long before = offset;
    // The present length, so that a child that never pauses cannot keep this loop running.
    long end = channel.size();
    while (offset < end) {
      chunk.clear();
      int count = channel.read(chunk, offset);
      if (count <= 0) {
        break;
      }
      lines.write(chunk.array(), 0, count);
      advance(count);
    }
    return offset - before;
  }

  private void advance(int count) {
    for (int i = count - 1; i >= 0; i--) {
      if (chunk.array()[i] == '\n') {
        lineStart = offset + i + 1;
        break;
      }
    }
    offset += count;
  }

  private long rotate(FileChannel channel) throws IOException {
    try (FileChannel copy =
        FileChannel.open(
            file.resolveSibling(file.getFileName() + ".1"),
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      copy(channel, copy);
      save();
      long late = drain(channel);
      channel.truncate(0);
      startOver();
      write(new Place(0));
      return late;
    }
  }

  /** Copies the delivered bytes, or the rest of a file that another process truncated. */
  private void copy(FileChannel from, FileChannel to) throws IOException {
    long done = 0;
    long moved = 1;
    while (moved > 0 && done < offset) {
      moved = from.transferTo(done, offset - done, to);
      done += moved;
    }
  }

  /** Begins at the start of the truncated file; an unfinished line stays in the buffer. */
  private void startOver() {
    offset = 0;
    saved = 0;
    lineStart = 0;
  }

  /** Saves the position of the last unfinished line, so that the next reader gets all of it. */
  private void save() throws IOException {
    if (saved != lineStart) {
      write(new Place(lineStart));
      saved = lineStart;
    }
  }

  private void write(Place place) throws IOException {
    ProcessFiles.replace(placeFile, GSON.toJson(place), AtomicFile.Durability.PROCESS);
  }

  /** Reads the saved position; without it lines come twice, but none is lost. */
  private long load() {
    try {
      Place place = GSON.fromJson(Files.readString(placeFile), Place.class);
      return place == null ? 0 : Math.min(place.offset(), sizeOr(place));
    } catch (NoSuchFileException none) {
      return 0;
    } catch (IOException | JsonParseException damaged) {
      sink.accept(
          LogPayload.Raw.of(
              "saved place " + placeFile + " is damaged, reading " + file + " from its start"));
      return 0;
    }
  }

  /**
   * Returns the length of the file, or 0 for a truncated file, which is shorter than the saved
   * position.
   */
  private long sizeOr(Place place) throws IOException {
    long size = Files.exists(file) ? Files.size(file) : 0;
    return size < place.offset() ? 0 : size;
  }

  /**
   * Saves the position; a failed reader may omit the close, since it holds no file open between
   * calls.
   */
  @Override
  public void close() throws IOException {
    save();
  }
}
