package dev.polis.base.posix;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.util.function.LongSupplier;

/**
 * Reads the time since the boot of the machine, suspensions included: Linux's CLOCK_BOOTTIME, in
 * milliseconds, exact to 10 ms.
 *
 * <p>{@code /proc/uptime} shows that clock. A link to the system call would cost 0.1 s at each
 * start of a node; a read of the open file costs a few microseconds.
 */
public final class BootClock implements LongSupplier {

  private static final String FILE = "/proc/uptime";

  private final byte[] text = new byte[64];
  private RandomAccessFile file; // null until the first read

  @Override
  public synchronized long getAsLong() {
    try {
      if (file == null) {
        file = new RandomAccessFile(FILE, "r");
      }
      file.seek(0);
      return millis(new String(text, 0, Math.max(0, file.read(text)), US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException(
          FILE + ", which counts the time of a suspension, cannot be read; mount /proc", e);
    }
  }

  /** Returns the milliseconds of a text such as {@code "1406.69 410.46\n"}. */
  static long millis(String text) throws IOException {
    int dot = text.indexOf('.');
    try {
      return 1000 * Long.parseLong(text, 0, dot, 10)
          + 10 * Long.parseLong(text, dot + 1, dot + 3, 10);
    } catch (NumberFormatException | IndexOutOfBoundsException e) {
      throw new IOException("expected seconds with two decimals, and found: " + text.strip(), e);
    }
  }
}
