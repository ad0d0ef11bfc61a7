package dev.polis.logtree.convert;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads lines of {@code key=value} pairs, as containerd and others that log with Go's logrus write
 * them: {@code time="2026-01-02T15:04:05Z" level=info msg="a text" id=7}. Time, level and message
 * get their places in the entry; all other pairs follow the message.
 */
public final class LogfmtConverter implements LineConverter {
  private static final Pattern PAIR =
      Pattern.compile("([A-Za-z_][\\w.\\-/]*)=(\"(?:[^\"\\\\]|\\\\.)*\"|\\S*)(?:\\s+|$)");

  private final InstantSource clock;

  /** A converter for lines of programs that run now. */
  public LogfmtConverter() {
    this(InstantSource.system());
  }

  /**
   * Creates a converter.
   *
   * @param clock tells the time of lines that tell none
   */
  public LogfmtConverter(InstantSource clock) {
    this.clock = clock;
  }

  @Override
  public Optional<LogPayload> convert(String line) {
    Map<String, String> pairs = pairs(line);
    if (!pairs.containsKey("level") || !pairs.containsKey("msg")) {
      return Optional.empty();
    }
    return Optional.of(
        LogPayload.Leveled.of(severity(pairs.remove("level")), time(pairs), "", message(pairs)));
  }

  /** Returns the pairs of a line in their order; none if it holds anything else. */
  private static Map<String, String> pairs(String line) {
    Map<String, String> pairs = new LinkedHashMap<>();
    Matcher pair = PAIR.matcher(line);
    int end = 0;
    while (pair.find()) {
      if (pair.start() != end) {
        return Map.of();
      }
      pairs.put(pair.group(1), plain(pair.group(2)));
      end = pair.end();
    }
    return end == line.length() ? pairs : Map.of();
  }

  /** Returns a value without its quotation marks and the backslashes of Go's quoting. */
  private static String plain(String value) {
    if (value.length() < 2 || value.charAt(0) != '"') {
      return value;
    }
    StringBuilder plain = new StringBuilder();
    for (int at = 1; at < value.length() - 1; at++) {
      char each = value.charAt(at);
      if (each == '\\') {
        at++;
        plain.append(
            switch (value.charAt(at)) {
              case 'n' -> '\n';
              case 't' -> '\t';
              default -> value.charAt(at);
            });
      } else {
        plain.append(each);
      }
    }
    return plain.toString();
  }

  private static Severity severity(String level) {
    return switch (level) {
      case "warning", "warn" -> Severity.WARNING;
      case "error" -> Severity.ERROR;
      case "panic", "fatal" -> Severity.FATAL;
      default -> Severity.INFO;
    };
  }

  private Instant time(Map<String, String> pairs) {
    String time = pairs.remove("time");
    try {
      return time == null ? clock.instant() : OffsetDateTime.parse(time).toInstant();
    } catch (DateTimeException e) {
      // The message counts more than its time.
      return clock.instant();
    }
  }

  private static String message(Map<String, String> pairs) {
    StringJoiner text = new StringJoiner(", ");
    text.add(pairs.remove("msg"));
    pairs.forEach((key, value) -> text.add(key + ": " + value));
    return text.toString();
  }
}
