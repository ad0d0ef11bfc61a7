package dev.polis.network;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Optional;

/**
 * Holds one comparison with a time server, a line of chronyd's tracking log.
 *
 * @param at its time
 * @param server the address of the server
 * @param offset by how much the clock was ahead
 * @param follows false if chronyd had no server
 */
record Tracking(Instant at, String server, Duration offset, boolean follows) {

  /** The bytes of some lines; one has some 150. */
  private static final int TAIL = 1 << 10;

  /** The size at which the log begins anew: some days of lines. */
  private static final int MOST = 256 << 10;

  // The columns: date, time, address, stratum, frequency, skew, offset, leap status, sources, its
  // deviation, and the part of former offsets that is not yet corrected.
  private static final int SERVER = 2;
  private static final int OFFSET = 6;
  private static final int LEAP = 7;
  private static final int CORRECTION = 10;

  private static final double NANOS = 1e9;

  static Path file(Path folder) {
    return folder.resolve("tracking.log");
  }

  /**
   * Returns the last comparisons, and shortens a long log to one. It follows no link, since the
   * file belongs to chronyd's account.
   */
  static List<Tracking> last(Path folder) throws IOException {
    try (FileChannel log =
        FileChannel.open(
            file(folder),
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            LinkOption.NOFOLLOW_LINKS)) {
      ByteBuffer tail = ByteBuffer.allocate(TAIL);
      long size = log.size();
      log.read(tail, Math.max(0, size - TAIL));
      // A line without its end is not complete.
      String text = new String(tail.array(), 0, tail.position(), StandardCharsets.UTF_8);
      List<String> lines = text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
      if (size > MOST) {
        log.truncate(0);
        log.write(StandardCharsets.UTF_8.encode(lines.getLast() + "\n"), 0);
      }
      return lines.stream().flatMap(line -> parse(line).stream()).toList();
    } catch (NoSuchFileException notYet) {
      return List.of();
    }
  }

  /** Reads a line; empty if it is none of the log. */
  static Optional<Tracking> parse(String line) {
    String[] columns = line.strip().split("\\s+");
    if (columns.length <= CORRECTION) {
      return Optional.empty();
    }
    try {
      Instant at = LocalDateTime.parse(columns[0] + "T" + columns[1]).toInstant(ZoneOffset.UTC);
      double ahead = Double.parseDouble(columns[OFFSET]) - Double.parseDouble(columns[CORRECTION]);
      Duration offset = Duration.ofNanos(Math.round(ahead * NANOS));
      return Optional.of(new Tracking(at, columns[SERVER], offset, !columns[LEAP].equals("?")));
    } catch (DateTimeParseException | NumberFormatException other) {
      return Optional.empty();
    }
  }
}
