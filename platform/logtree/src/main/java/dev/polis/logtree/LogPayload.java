package dev.polis.logtree;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * Holds the content of an entry. Every payload is printable: valid Unicode (invalid bytes become
 * {@code <INVALID>}) in lines of at most {@value #MAX_LINE_BYTES} bytes of UTF-8.
 */
public sealed interface LogPayload {
  /** The longest kept line, in bytes of UTF-8; the rest is cut. */
  int MAX_LINE_BYTES = 1024;

  /** Most lines of one leveled entry: a stack trace with its causes, but not a memory dump. */
  int MAX_LINES = 256;

  /** Decodes UTF-8, with {@code <INVALID>} for each run of invalid bytes. */
  static String utf8(byte[] bytes) {
    return LogText.decode(bytes, 0, bytes.length, false);
  }

  /**
   * Holds a message of the project's code, or of a program with a known log format.
   *
   * @param lines at least one; a line that was cut ends with its original length
   * @param timestamp the time of the log call, by the wall clock
   * @param severity the severity
   * @param location {@code file:line} of the call, or a similar place; may be empty
   */
  record Leveled(List<String> lines, Instant timestamp, Severity severity, String location)
      implements LogPayload {
    /** Checks the lines, splits them at newlines, sanitizes and cuts them. */
    public Leveled {
      lines = LogText.lines(lines);
      Objects.requireNonNull(timestamp, "timestamp");
      Objects.requireNonNull(severity, "severity");
      location = LogText.valid(location);
    }

    /** Returns a payload with the lines of {@code message}, without newlines at its end. */
    public static Leveled of(
        Severity severity, Instant timestamp, String location, String message) {
      return new Leveled(List.of(message), timestamp, severity, location);
    }

    /** Returns the lines joined by newlines. */
    public String message() {
      return lines.size() == 1 ? lines.getFirst() : String.join("\n", lines);
    }
  }

  /**
   * Holds one unparsed line of a program's output.
   *
   * @param data the line without its newline, at most {@value LogPayload#MAX_LINE_BYTES} bytes of
   *     UTF-8 before sanitizing
   * @param originalLength length in bytes before it was cut and sanitized
   */
  record Raw(String data, int originalLength) implements LogPayload {
    /** Sanitizes the line, and refuses several lines. */
    public Raw {
      boolean plain = LogText.isPlain(data);
      data = plain ? data : LogText.valid(data);
      if (!plain && data.indexOf('\n') >= 0) {
        throw new IllegalArgumentException(
            "raw entry holds a newline; write each line as an entry of its own: " + data);
      }
      if (originalLength < 0) {
        throw new IllegalArgumentException("original length is negative: " + originalLength);
      }
    }

    /** Returns a raw line from text without newline. */
    public static Raw of(String line) {
      if (LogText.isShort(line) && LogText.isPlain(line)) {
        return new Raw(line, line.getBytes(StandardCharsets.UTF_8).length);
      }
      byte[] bytes = LogText.valid(line).getBytes(StandardCharsets.UTF_8);
      return of(bytes, 0, bytes.length, bytes.length);
    }

    static Raw of(byte[] bytes, int offset, int length, int originalLength) {
      int kept = Math.min(length, MAX_LINE_BYTES);
      boolean cut = kept < originalLength;
      return new Raw(LogText.decode(bytes, offset, kept, cut), originalLength);
    }

    /** Returns whether the line was longer than the kept part. */
    public boolean cut() {
      return originalLength > MAX_LINE_BYTES;
    }

    /** Returns the line, with "..." after it if it was cut. */
    @Override
    public String toString() {
      return cut() ? data + "..." : data;
    }
  }
}
