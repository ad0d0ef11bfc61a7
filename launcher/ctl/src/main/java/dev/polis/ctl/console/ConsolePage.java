package dev.polis.ctl.console;

import dev.polis.ctl.session.HealthRoots;
import dev.polis.ctl.session.WireName;
import dev.polis.logtree.LogFormat;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import dev.polis.wire.health.Wait;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jline.utils.AttributedString;
import org.jline.utils.AttributedStringBuilder;
import org.jline.utils.AttributedStyle;

/**
 * Lays out a page: a title, the causes with what to do, the waits, the organs and roles with the
 * worst first, the log, and a foot with the keys. What a node says is shown without the characters
 * that drive a terminal.
 */
final class ConsolePage {

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'").withZone(ZoneOffset.UTC);

  /** So many lines of the log are worth their place, even if not all organs are shown then. */
  private static final int LEAST_LOG = 5;

  /** A question each second, of a node that is well, has an answer long before. */
  private static final Duration OLD = Duration.ofSeconds(5);

  private static final String INDENT = "  ";

  private static final AttributedStyle PLAIN = AttributedStyle.DEFAULT;
  private static final AttributedStyle BAR = PLAIN.inverse();
  private static final AttributedStyle STRONG = PLAIN.bold();

  private final ConsoleState state;
  private final int columns;
  private final int rows;

  private ConsolePage(ConsoleState state, int columns, int rows) {
    this.state = state;
    this.columns = columns;
    this.rows = rows;
  }

  /**
   * Returns the lines of a page.
   *
   * @param columns the width of the terminal, at least 1
   * @param rows the height of the terminal, and the number of lines
   */
  static List<AttributedString> lines(ConsoleState state, int columns, int rows) {
    return new ConsolePage(state, Math.max(1, columns), Math.max(1, rows)).lines();
  }

  private List<AttributedString> lines() {
    List<AttributedString> page = new ArrayList<>();
    page.add(title());
    int room = rows - 2; // without title and foot
    List<AttributedString> status = state.logOnly() ? List.of() : status();
    int kept = Math.min(status.size(), Math.max(0, room - LEAST_LOG - 1));
    page.addAll(status.subList(0, kept));
    if (kept < status.size() && kept > 0) {
      String hidden = "… %d more lines: use a taller screen".formatted(status.size() - kept + 1);
      page.set(page.size() - 1, cut(PLAIN, hidden));
    }
    page.addAll(log(room - kept));
    while (page.size() < rows - 1) {
      page.add(AttributedString.EMPTY);
    }
    List<AttributedString> whole = new ArrayList<>(page.subList(0, Math.max(0, rows - 1)));
    whole.add(foot());
    return whole;
  }

  private AttributedString title() {
    String left = " Polis %s  %s".formatted(PlatformVersion.current(), state.asked().node());
    String right = "%s  %s ".formatted(state.asked().address(), TIME.format(state.now()));
    int gap = columns - left.length() - right.length();
    return gap >= 1
        ? cut(BAR, left + " ".repeat(gap) + right)
        : cut(BAR, left + " ".repeat(Math.max(0, columns - left.length())));
  }

  private List<AttributedString> status() {
    long age = Duration.between(state.asked().at(), state.now()).toSeconds();
    return age < OLD.toSeconds()
        ? facts()
        : Stream.concat(
                Stream.of(cut(STRONG, "answer of %d s ago: the next one is late".formatted(age))),
                facts().stream())
            .toList();
  }

  private List<AttributedString> facts() {
    return switch (state.asked().facts()) {
      case ConsoleFacts.Unasked() -> List.of(cut(PLAIN, "asking the node …"));
      case ConsoleFacts.Silence(String why) ->
          wrapped(PLAIN.foreground(AttributedStyle.RED), "", why);
      case ConsoleFacts.Answer(ExplainResponse node, GetHealthResponse health) ->
          answer(node, health);
    };
  }

  private List<AttributedString> answer(ExplainResponse node, GetHealthResponse health) {
    List<AttributedString> lines = new ArrayList<>();
    lines.addAll(
        wrapped(
            style(node.getLevel()).bold(),
            "",
            "%s: %s".formatted(WireName.shortened(node.getLevel()), node.getStanding())));
    node.getCausesList().forEach(cause -> lines.addAll(wrapped(PLAIN, INDENT, "because " + cause)));
    node.getRemediesList()
        .forEach(remedy -> lines.addAll(wrapped(STRONG, INDENT, "to do: " + remedy)));
    for (Wait wait : health.getWaitsList()) {
      String line =
          "waiting for %s (%d s)".formatted(wait.getName(), wait.getLasted().getSeconds());
      String detail = wait.getDetail().isEmpty() ? "" : ": " + wait.getDetail();
      lines.addAll(wrapped(STRONG, INDENT, line + detail));
    }
    lines.add(AttributedString.EMPTY);
    for (Status each : HealthRoots.of(health).ordered()) {
      lines.add(row(each));
    }
    return lines;
  }

  private AttributedString row(Status status) {
    return new AttributedStringBuilder()
        .append("%-24s ".formatted(LogFormat.printable(status.getName())))
        .styled(style(status.getLevel()), "%-9s".formatted(WireName.shortened(status.getLevel())))
        .append(LogFormat.printable(status.getReason()))
        .toAttributedString()
        .columnSubSequence(0, columns);
  }

  private List<AttributedString> log(int room) {
    if (room < 1) {
      return List.of();
    }
    List<AttributedString> lines = new ArrayList<>();
    String name = "-- log of %s ".formatted(state.part().isEmpty() ? "all parts" : state.part());
    lines.add(cut(PLAIN.faint(), name + "-".repeat(Math.max(0, columns - name.length()))));
    List<AttributedString> entries =
        state.log().stream()
            .flatMap(entry -> LogFormat.concise(entry, columns).lines())
            .map(line -> cut(PLAIN, line))
            .toList();
    lines.addAll(entries.subList(Math.max(0, entries.size() - room + 1), entries.size()));
    return lines;
  }

  private AttributedString foot() {
    String text =
        switch (state.prompt()) {
          case NONE -> state.note().isEmpty() ? state.keys() : state.note();
          case PART ->
              "log of (consensus, for example; empty: all parts): %s_".formatted(state.typed());
          // A person at the screen counts the characters; a camera behind it reads none.
          case RECOVERY_KEY ->
              "recovery key, the line between BEGIN and END of its file (%d characters so far; Esc leaves): "
                  .formatted(state.typed().length());
        };
    String line = " " + LogFormat.printable(text);
    return cut(BAR, line + " ".repeat(Math.max(0, columns - line.length())));
  }

  private List<AttributedString> wrapped(AttributedStyle style, String indent, String text) {
    int room = Math.max(1, columns - indent.length());
    return LogFormat.wrap(LogFormat.printable(text), room).stream()
        .map(part -> cut(style, indent + part))
        .toList();
  }

  private AttributedString cut(AttributedStyle style, String text) {
    return new AttributedString(text, style).columnSubSequence(0, columns);
  }

  private static AttributedStyle style(Level level) {
    return switch (level) {
      case LEVEL_UP -> PLAIN.foreground(AttributedStyle.GREEN);
      case LEVEL_DEGRADED, LEVEL_WAITING -> PLAIN.foreground(AttributedStyle.YELLOW);
      case LEVEL_DOWN -> PLAIN.foreground(AttributedStyle.RED);
      case LEVEL_UNKNOWN, UNRECOGNIZED -> PLAIN;
    };
  }
}
