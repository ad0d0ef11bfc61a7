package dev.polis.logtree;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Joins written pieces into lines, and passes each line on without its newline. A line passes raw
 * and cut to {@value LogPayload#MAX_LINE_BYTES} bytes, or converted first and cut then. The buffer
 * holds an unfinished line until its newline comes or the buffer is closed. Safe for use by any
 * thread; the sink is called by the writing one.
 */
public final class LineBuffer extends OutputStream {
  /**
   * Longest line that is offered to a converter, in bytes; a longer one stays raw. An etcd line
   * that quotes a request or a configuration has some thousands; a program that writes megabytes
   * without a newline writes no log.
   */
  public static final int MAX_CONVERTED_BYTES = 64 << 10;

  /** Makes an entry of the first {@code kept} bytes of a line that had {@code length}. */
  private interface Finish {
    void line(byte[] bytes, int kept, int length);
  }

  private final int longest;
  private final Finish finish;
  private byte[] line = new byte[LogPayload.MAX_LINE_BYTES];
  private int length;
  private boolean closed;

  private LineBuffer(int longest, Finish finish) {
    this.longest = longest;
    this.finish = finish;
  }

  /** Creates a buffer that passes its lines unchanged to {@code sink}. */
  public LineBuffer(Consumer<? super LogPayload.Raw> sink) {
    this(LogPayload.MAX_LINE_BYTES, (bytes, kept, length) -> sink.accept(raw(bytes, kept, length)));
    Objects.requireNonNull(sink, "sink");
  }

  /**
   * Creates a buffer that passes its lines converted to {@code sink}, or unchanged if the converter
   * returns no result.
   *
   * @param converter receives lines of up to {@value #MAX_CONVERTED_BYTES} bytes
   */
  public LineBuffer(
      Function<String, Optional<LogPayload>> converter, Consumer<? super LogPayload> sink) {
    this(
        MAX_CONVERTED_BYTES,
        (bytes, kept, length) ->
            sink.accept(
                converted(converter, bytes, kept, length)
                    .orElseGet(() -> raw(bytes, kept, length))));
    Objects.requireNonNull(converter, "converter");
    Objects.requireNonNull(sink, "sink");
  }

  @Override
  public synchronized void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int count) throws IOException {
    Objects.checkFromIndexSize(offset, count, bytes.length);
    requireOpen();
    int from = offset;
    for (int i = offset; i < offset + count; i++) {
      if (bytes[i] == '\n') {
        put(bytes, from, i - from);
        emit();
        from = i + 1;
      }
    }
    put(bytes, from, offset + count - from);
  }

  /** Passes on an unfinished line; a second close does nothing. */
  @Override
  public synchronized void close() {
    if (!closed && length > 0) {
      emit();
    }
    closed = true;
  }

  private void put(byte[] bytes, int offset, int count) {
    int kept = Math.min(length, longest);
    int taken = Math.min(count, longest - kept);
    if (kept + taken > line.length) {
      line = Arrays.copyOf(line, Math.min(longest, Math.max(2 * line.length, kept + taken)));
    }
    System.arraycopy(bytes, offset, line, kept, taken);
    length = (int) Math.min(Integer.MAX_VALUE, (long) length + count);
  }

  private void emit() {
    byte[] whole = line;
    int wholeLength = length;
    length = 0;
    if (line.length > LogPayload.MAX_LINE_BYTES) {
      // Frees the room of a rare long line.
      line = new byte[LogPayload.MAX_LINE_BYTES];
    }
    finish.line(whole, Math.min(wholeLength, longest), wholeLength);
  }

  private static Optional<LogPayload> converted(
      Function<String, Optional<LogPayload>> converter, byte[] bytes, int kept, int length) {
    return kept < length
        ? Optional.empty()
        : converter.apply(LogText.decode(bytes, 0, length, false));
  }

  private static LogPayload.Raw raw(byte[] bytes, int kept, int length) {
    return LogPayload.Raw.of(bytes, 0, kept, length);
  }

  private void requireOpen() throws IOException {
    if (closed) {
      throw new IOException("line buffer is closed; nothing can be written after that");
    }
  }
}
