package dev.polis.rpc.audit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * Reads the lines of a file of the log. It holds one line in memory, and a block of the file,
 * however long the file is.
 */
final class AuditLines {
  /** The columns of a record have 1,200 characters each at most, of up to four bytes. */
  static final int LONGEST = 32 << 10;

  /** The size of one read; a record has some hundred bytes. */
  private static final int BLOCK = 64 << 10;

  /**
   * Holds one line.
   *
   * @param text the line without its line feed; empty if it is longer than any record
   * @param bytes its length in the file
   * @param complete false for the rest of a file that ends within a line
   */
  record Line(String text, long bytes, boolean complete) {}

  private final InputStream in;
  private final byte[] block = new byte[BLOCK];
  private final ByteArrayOutputStream line = new ByteArrayOutputStream(1 << 10);
  private int next;
  private int end;

  AuditLines(InputStream in) {
    this.in = in;
  }

  /** Returns the next line; empty at the end of the file. */
  Optional<Line> next() throws IOException {
    line.reset();
    long bytes = 0;
    while (next < end || fill()) {
      int from = next;
      while (next < end && block[next] != '\n') {
        next++;
      }
      // One byte more than a record may have shows that the line is too long.
      line.write(block, from, Math.min(next - from, LONGEST + 1 - line.size()));
      bytes += next - from;
      if (next < end) {
        next++;
        return Optional.of(line(bytes + 1, true));
      }
    }
    return bytes == 0 ? Optional.empty() : Optional.of(line(bytes, false));
  }

  private boolean fill() throws IOException {
    next = 0;
    end = Math.max(0, in.read(block));
    return end > 0;
  }

  private Line line(long bytes, boolean complete) {
    String text = line.size() > LONGEST ? "" : line.toString(StandardCharsets.UTF_8);
    return new Line(text, bytes, complete);
  }
}
