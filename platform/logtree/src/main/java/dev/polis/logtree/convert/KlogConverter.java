package dev.polis.logtree.convert;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads klog lines, as the Kubernetes components write them: {@code I0102 15:04:05.000000 1234
 * file.go:56] text}.
 *
 * <p>They have no year. The converter takes the present year, unless the line would then be in the
 * future: then it takes the last year for a line from the very end of the year, and otherwise
 * refuses the line.
 */
public final class KlogConverter implements LineConverter {
  private static final Pattern LINE =
      Pattern.compile(
          "([IWEF])(\\d{2})(\\d{2}) (\\d{2}):(\\d{2}):(\\d{2})(?:\\.(\\d{1,9}))?\\s+\\d+ "
              + "([^\\]:]+:\\d+)\\] (.*)",
          Pattern.DOTALL);

  // Processes on one machine share a clock; this covers a step of time synchronization.
  private static final Duration TOLERANCE = Duration.ofMinutes(10);
  // The node reads a line soon after it was written. A line whose date lies longer ago than this,
  // when taken in the last year, comes from a wrong clock.
  private static final Duration ROLLOVER = Duration.ofDays(1);

  private final InstantSource clock;
  private final ZoneId zone;

  /** Creates a converter for lines of running programs, in the time zone of this process. */
  public KlogConverter() {
    this(InstantSource.system(), ZoneId.systemDefault());
  }

  /**
   * Creates a converter.
   *
   * @param clock gives the present year
   * @param zone the time zone of the program's times
   */
  public KlogConverter(InstantSource clock, ZoneId zone) {
    this.clock = clock;
    this.zone = zone;
  }

  @Override
  public Optional<LogPayload> convert(String line) {
    Matcher match = LINE.matcher(line);
    if (!match.matches()) {
      return Optional.empty();
    }
    return timestamp(match)
        .map(time -> LogPayload.Leveled.of(severity(match), time, match.group(8), match.group(9)));
  }

  private static Severity severity(Matcher match) {
    return switch (match.group(1).charAt(0)) {
      case 'I' -> Severity.INFO;
      case 'W' -> Severity.WARNING;
      case 'E' -> Severity.ERROR;
      default -> Severity.FATAL;
    };
  }

  /** Returns the newest time with that date that is not in the future. */
  private Optional<Instant> timestamp(Matcher match) {
    Instant now = clock.instant();
    Instant latest = now.plus(TOLERANCE);
    Instant oldestOfLastYear = now.minus(ROLLOVER);
    int year = LocalDateTime.ofInstant(now, zone).getYear();
    // Within the tolerance before midnight of New Year's Eve, a line may be from the next year.
    return inYear(match, year + 1)
        .filter(time -> !time.isAfter(latest))
        .or(() -> inYear(match, year).filter(time -> !time.isAfter(latest)))
        .or(() -> inYear(match, year - 1).filter(time -> !time.isBefore(oldestOfLastYear)));
  }

  private Optional<Instant> inYear(Matcher match, int year) {
    try {
      return Optional.of(
          LocalDateTime.of(
                  year,
                  number(match, 2),
                  number(match, 3),
                  number(match, 4),
                  number(match, 5),
                  number(match, 6),
                  nanos(match.group(7)))
              .atZone(zone)
              .toInstant());
    } catch (DateTimeException e) {
      // That year has no such date, such as 29 February.
      return Optional.empty();
    }
  }

  private static int number(Matcher match, int group) {
    return Integer.parseInt(match.group(group));
  }

  private static int nanos(String fraction) {
    return fraction == null ? 0 : Integer.parseInt((fraction + "00000000").substring(0, 9));
  }
}
