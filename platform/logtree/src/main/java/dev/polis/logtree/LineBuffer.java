package dev.polis.logtree;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Joins written pieces into lines and hands each on without its newline, cut to {@value
 * LogPayload#MAX_LINE_BYTES} bytes. An unfinished line is held until its newline comes or the
 * buffer is closed. Safe for use by any thread; the sink is called by the writing one.
 */
public final class LineBuffer extends OutputStream {
  private final Consumer<LogPayload.Raw> sink;
  private final byte[] line = new byte[LogPayload.MAX_LINE_BYTES];
  private int originalLength;
  private boolean closed;

  /** A buffer that hands its lines to {@code sink}. */
  public LineBuffer(Consumer<LogPayload.Raw> sink) {
    this.sink = Objects.requireNonNull(sink, "sink");
  }

  @Override
  public synchronized void write(int b) throws IOException {
    requireOpen();
    put((byte) b);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, bytes.length);
    requireOpen();
    for (int i = offset; i < offset + length; i++) {
      put(bytes[i]);
    }
  }

  /** Hands on an unfinished line. Closing twice does nothing. */
  @Override
  public synchronized void close() {
    if (!closed && originalLength > 0) {
      emit();
    }
    closed = true;
  }

  private void put(byte b) {
    if (b == '\n') {
      emit();
      return;
    }
    if (originalLength < line.length) {
      line[originalLength] = b;
    }
    if (originalLength < Integer.MAX_VALUE) {
      originalLength++;
    }
  }

  private void emit() {
    int length = originalLength;
    originalLength = 0;
    sink.accept(LogPayload.Raw.of(line, 0, Math.min(length, line.length), length));
  }

  private void requireOpen() throws IOException {
    if (closed) {
      throw new IOException("line buffer is closed; nothing can be written after that");
    }
  }
}
