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

/**
 * Reads lines of {@code key=value} pairs, as containerd and others that log with Go's logrus write
 * them: {@code time="2026-01-02T15:04:05Z" level=info msg="a text" id=7}. Time, level and message
 * get their places in the entry; all other pairs follow the message.
 */
public final class LogfmtConverter implements LineConverter {
  private final InstantSource clock;

  /** Creates a converter for lines of running programs. */
  public LogfmtConverter() {
    this(InstantSource.system());
  }

  /**
   * Creates a converter.
   *
   * @param clock gives the time of a line without one
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

  /** Returns the pairs of a line in their order; empty if the line has another form. */
  private static Map<String, String> pairs(String line) {
    Map<String, String> pairs = new LinkedHashMap<>();
    int at = 0;
    while (at < line.length()) {
      int equals = line.indexOf('=', at);
      if (equals < 0 || !isKey(line, at, equals)) {
        return Map.of();
      }
      int end = endOfValue(line, equals + 1);
      pairs.put(line.substring(at, equals), plain(line.substring(equals + 1, end)));
      at = end;
      while (at < line.length() && line.charAt(at) == ' ') {
        at++;
      }
    }
    return pairs;
  }

  private static boolean isKey(String line, int from, int to) {
    return from < to
        && line.substring(from, to)
            .chars()
            .allMatch(each -> Character.isLetterOrDigit(each) || "_.-/".indexOf(each) >= 0);
  }

  /**
   * Returns the end of a value: behind its closing quotation mark, or before the next blank. It
   * uses no regular expression: containerd quotes its whole configuration, which is too long for
   * Java's.
   */
  private static int endOfValue(String line, int from) {
    if (from == line.length() || line.charAt(from) != '"') {
      int blank = line.indexOf(' ', from);
      return blank < 0 ? line.length() : blank;
    }
    for (int at = from + 1; at < line.length(); at++) {
      if (line.charAt(at) == '\\') {
        at++;
      } else if (line.charAt(at) == '"') {
        return at + 1;
      }
    }
    return line.length();
  }

  /** Removes the quotation marks of a value and the backslashes of Go's quoting. */
  private static String plain(String value) {
    if (value.length() < 2 || value.charAt(0) != '"' || !value.endsWith("\"")) {
      return value;
    }
    StringBuilder plain = new StringBuilder();
    for (int at = 1; at < value.length() - 1; at++) {
      char each = value.charAt(at);
      if (each != '\\' || at + 1 == value.length() - 1) {
        plain.append(each);
        continue;
      }
      at++;
      plain.append(
          switch (value.charAt(at)) {
            case 'n' -> '\n';
            case 't' -> '\t';
            default -> value.charAt(at);
          });
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
      // The message is more important than its time.
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
