package dev.polis.logtree;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Formats entries as text. It shows {@code ?} for characters with which a foreign program could
 * control the reader's terminal or forge a line. Times are in UTC.
 */
public final class LogFormat {
  // Has room for most names of a node; longer ones push the rest of their line to the right.
  private static final int FULL_COLUMN = 32;
  private static final int WIDE_TERMINAL = 80;
  private static final int WIDE_COLUMN = 20;
  private static final int NARROW_TERMINAL = 60;
  private static final int NARROW_COLUMN = 16;

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("MMdd HH:mm:ss.SSSSSS", Locale.ROOT).withZone(ZoneOffset.UTC);

  private LogFormat() {}

  /**
   * Returns the full form, one line for each line of the entry, without a newline at the end: the
   * name in a column of 32, then {@code I0102 15:04:05.000000 file:line] text}, or {@code R text}
   * for a raw entry.
   */
  public static String full(LogEntry entry) {
    String name = padRight(entry.dn(), FULL_COLUMN) + ' ';
    List<String> lines = new ArrayList<>();
    switch (entry.payload()) {
      case LogPayload.Leveled leveled -> {
        String prefix = name + stamp(leveled.severity(), leveled.timestamp(), leveled.location());
        leveled.lines().forEach(line -> lines.add(prefix + printable(line)));
      }
      case LogPayload.Raw raw -> lines.add(name + "R " + printable(raw.toString()));
    }
    return String.join("\n", lines);
  }

  /**
   * Returns the concise form for a terminal, without a newline at the end: the shortened name right
   * aligned in a column (20 wide on terminals of 80 columns or more, 16 from 60, else left out),
   * the letter of the severity or {@code R}, and the text, wrapped at words; further lines begin
   * with {@code |}.
   *
   * @param columns width of the terminal; 0 if it has none, then nothing is wrapped
   */
  public static String concise(LogEntry entry, int columns) {
    int column = columnWidth(columns);
    String name = column == 0 ? "" : padLeft(Dn.shorten(entry.dn(), column), column) + ' ';
    String margin = " ".repeat(name.length());
    int room = columns <= 0 ? Integer.MAX_VALUE : Math.max(1, columns - name.length() - 2);
    StringBuilder out = new StringBuilder();
    for (String line : lines(entry.payload())) {
      for (String part : wrap(printable(line), room)) {
        if (out.isEmpty()) {
          out.append(name).append(letter(entry.payload()));
        } else {
          out.append('\n').append(margin).append('|');
        }
        out.append(' ').append(part);
      }
    }
    return out.toString();
  }

  private static String stamp(Severity severity, Instant timestamp, String location) {
    return severity.letter() + TIME.format(timestamp) + ' ' + location + "] ";
  }

  private static List<String> lines(LogPayload payload) {
    return switch (payload) {
      case LogPayload.Leveled leveled -> leveled.lines();
      case LogPayload.Raw raw -> List.of(raw.toString());
    };
  }

  private static char letter(LogPayload payload) {
    return switch (payload) {
      case LogPayload.Leveled leveled -> leveled.severity().letter();
      case LogPayload.Raw _ -> 'R';
    };
  }

  private static int columnWidth(int columns) {
    if (columns <= 0 || columns >= WIDE_TERMINAL) {
      return WIDE_COLUMN;
    }
    return columns >= NARROW_TERMINAL ? NARROW_COLUMN : 0;
  }

  /**
   * Breaks a text into lines, each at the last space that fits, or within a word longer than a
   * line.
   *
   * @param room the length of the longest line, at least 1
   * @return at least one line
   */
  public static List<String> wrap(String text, int room) {
    List<String> parts = new ArrayList<>();
    String rest = text;
    while (rest.length() > room) {
      int space = rest.lastIndexOf(' ', room);
      int end = space > 0 ? space : wholeCharacters(rest, room);
      parts.add(rest.substring(0, end).stripTrailing());
      rest = rest.substring(end).stripLeading();
    }
    if (!rest.isEmpty() || parts.isEmpty()) {
      parts.add(rest);
    }
    return parts;
  }

  private static int wholeCharacters(String text, int end) {
    boolean splitsPair = Character.isHighSurrogate(text.charAt(end - 1));
    if (!splitsPair) {
      return end;
    }
    return end == 1 ? 2 : end - 1;
  }

  /**
   * Returns whether a character neither ends a line, nor controls a terminal, nor hides or turns
   * the text around it.
   */
  public static boolean isPrintable(int character) {
    return switch (Character.getType(character)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          false;
      default -> true;
    };
  }

  /** Returns a text with {@code ?} for unprintable characters, and spaces for tabs. */
  public static String printable(String text) {
    StringBuilder out = new StringBuilder(text.length());
    text.codePoints().forEach(c -> out.appendCodePoint(c == '\t' ? ' ' : isPrintable(c) ? c : '?'));
    return out.toString();
  }

  private static String padRight(String text, int width) {
    return text + " ".repeat(Math.max(0, width - text.length()));
  }

  private static String padLeft(String text, int width) {
    return " ".repeat(Math.max(0, width - text.length())) + text;
  }
}
