package dev.polis.logtree.convert;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads records of {@code /dev/kmsg}: {@code priority,sequence,microseconds,flags[,...];text}. The
 * lines with metadata that may follow a record begin with a space and convert to nothing.
 */
public final class KernelConverter implements LineConverter {
  private static final Pattern RECORD =
      Pattern.compile("(\\d{1,9}),\\d+,(\\d{1,18}),[^;]*;(.*)", Pattern.DOTALL);
  // The kernel writes bytes that are not printable ASCII, and backslashes, as \xNN.
  private static final Pattern ESCAPE = Pattern.compile("\\\\x([0-9a-fA-F]{2})");
  // The lower three bits of the priority are the level, as of syslog; the others the facility.
  private static final int LEVEL = 7;
  private static final int ALERT = 1;
  private static final int ERROR = 3;
  private static final int WARNING = 4;

  private final Instant bootTime;

  /**
   * Creates a converter.
   *
   * @param bootTime when the kernel's monotonic clock was zero
   */
  public KernelConverter(Instant bootTime) {
    this.bootTime = bootTime;
  }

  @Override
  public Optional<LogPayload> convert(String line) {
    Matcher match = RECORD.matcher(line);
    if (!match.matches()) {
      return Optional.empty();
    }
    Instant time = bootTime.plus(Long.parseLong(match.group(2)), ChronoUnit.MICROS);
    Severity severity = severity(Integer.parseInt(match.group(1)) & LEVEL);
    return Optional.of(LogPayload.Leveled.of(severity, time, "kernel", unescape(match.group(3))));
  }

  private static Severity severity(int level) {
    if (level <= ALERT) {
      return Severity.FATAL;
    }
    if (level <= ERROR) {
      return Severity.ERROR;
    }
    return level == WARNING ? Severity.WARNING : Severity.INFO;
  }

  private static String unescape(String text) {
    if (text.indexOf('\\') < 0) {
      return text;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    Matcher escape = ESCAPE.matcher(text);
    int from = 0;
    while (escape.find()) {
      bytes.writeBytes(text.substring(from, escape.start()).getBytes(StandardCharsets.UTF_8));
      bytes.write(Integer.parseInt(escape.group(1), 16));
      from = escape.end();
    }
    bytes.writeBytes(text.substring(from).getBytes(StandardCharsets.UTF_8));
    return LogPayload.utf8(bytes.toByteArray());
  }
}
