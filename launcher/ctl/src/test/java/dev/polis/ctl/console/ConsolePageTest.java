package dev.polis.ctl.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import dev.polis.ctl.console.ConsoleState.Prompt;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import dev.polis.wire.health.Condition;
import dev.polis.wire.health.ExplainResponse;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import dev.polis.wire.health.Wait;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.jline.utils.AttributedString;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lays out pages of a node in several states, on screens of several sizes. */
final class ConsolePageTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");

  private static ConsoleState state(ConsoleFacts facts, Prompt prompt, String typed) {
    List<LogEntry> log =
        IntStream.rangeClosed(1, 40)
            .mapToObj(
                number ->
                    new LogEntry(
                        "root.cluster",
                        number,
                        LogPayload.Leveled.of(Severity.INFO, NOW, "", "line " + number)))
            .toList();
    return new ConsoleState(
        NOW,
        new ConsoleFacts.Asked("metropolis-0a", "10.0.0.7", NOW, facts),
        "",
        log,
        false,
        prompt,
        typed,
        "",
        "q quit");
  }

  private static List<String> page(ConsoleFacts facts, int columns, int rows) {
    return text(ConsolePage.lines(state(facts, Prompt.NONE, ""), columns, rows));
  }

  private static List<String> text(List<AttributedString> page) {
    return page.stream().map(AttributedString::toString).map(String::stripTrailing).toList();
  }

  private static Status status(String name, Level level, String reason) {
    Status.Builder status = Status.newBuilder().setName(name).setLevel(level).setReason(reason);
    if (level != Level.LEVEL_UP) {
      status.addConditions(Condition.newBuilder().setLevel(level).setReason(reason));
    }
    return status.build();
  }

  private static ConsoleFacts.Answer waiting() {
    return new ConsoleFacts.Answer(
        ExplainResponse.newBuilder()
            .setLevel(Level.LEVEL_WAITING)
            .setStanding("of 2 organs and roles: 1 WAITING (cluster), 1 UP")
            .addCauses("cluster: it waits for its approval")
            .addRemedies("approve the node at a member")
            .build(),
        GetHealthResponse.newBuilder()
            .addStatuses(status("storage", Level.LEVEL_UP, ""))
            .addStatuses(status("cluster", Level.LEVEL_WAITING, "it waits for its approval"))
            .addWaits(
                Wait.newBuilder()
                    .setName("approval by an operator")
                    .setDetail("polisctl node approve metropolis-0a --key ab:cd")
                    .setLasted(Duration.newBuilder().setSeconds(12)))
            .build());
  }

  @Test
  @DisplayName("a node that waits shows why, what to do, and the key by which it is approved")
  void waitingNode() {
    List<String> page = page(waiting(), 100, 24);
    assertEquals(24, page.size());
    assertTrue(page.getFirst().contains("metropolis-0a"), page::toString);
    assertTrue(page.getFirst().endsWith("10.0.0.7  2026-01-02 03:04:05 UTC"), page::toString);
    assertEquals("WAITING: of 2 organs and roles: 1 WAITING (cluster), 1 UP", page.get(1));
    assertEquals("  because cluster: it waits for its approval", page.get(2));
    assertEquals("  to do: approve the node at a member", page.get(3));
    assertEquals(
        "  waiting for approval by an operator (12 s): polisctl node approve metropolis-0a --key ab:cd",
        page.get(4));
    assertEquals("cluster                  WAITING  it waits for its approval", page.get(6));
    assertEquals("storage                  UP", page.get(7));
    assertEquals("             cluster I line 40", page.get(22));
    assertEquals(" q quit", page.get(23));
  }

  @Test
  @DisplayName("a node that does not answer shows why, in lines that fit the screen")
  void silentNode() {
    List<String> page =
        page(new ConsoleFacts.Silence("the disk is full; " + "word ".repeat(30)), 60, 24);
    assertTrue(page.get(1).startsWith("the disk is full"), page::toString);
    assertTrue(page.get(3).startsWith("word") || page.get(3).contains("word"), page::toString);
  }

  @Test
  @DisplayName("what a node says moves no cursor, and no line is wider than the screen")
  void hostileNode() {
    ConsoleFacts.Answer hostile =
        new ConsoleFacts.Answer(
            ExplainResponse.newBuilder()
                .setLevel(Level.LEVEL_DOWN)
                .setStanding("\u001b[2Jgone\nforged line")
                .addCauses("\u001b]0;title\u0007")
                .addRemedies("x".repeat(500))
                .build(),
            GetHealthResponse.newBuilder()
                .addStatuses(status("a\u001b[1m", Level.LEVEL_DOWN, "b\u009b2J\u202e"))
                .addWaits(Wait.newBuilder().setName("c\r").setDetail("d\u0000"))
                .build());
    for (AttributedString line : ConsolePage.lines(state(hostile, Prompt.NONE, ""), 80, 40)) {
      String text = line.toString();
      assertTrue(line.columnLength() <= 80, text);
      assertFalse(
          text.chars()
              .anyMatch(each -> each < ' ' || each >= 0x7f && each < 0xa0 || each == 0x202e),
          () -> "a character that drives a terminal: " + text);
    }
  }

  @ParameterizedTest
  @CsvSource({"80, 25", "132, 50", "40, 10", "20, 3", "1, 1", "80, 2"})
  @DisplayName("a page has as many lines as the screen, and its foot is the last one")
  void sizes(int columns, int rows) {
    List<AttributedString> page =
        ConsolePage.lines(state(waiting(), Prompt.NONE, ""), columns, rows);
    assertEquals(rows, page.size());
    page.forEach(line -> assertTrue(line.columnLength() <= columns, line::toString));
    if (columns >= 20) {
      assertEquals(" q quit", page.getLast().toString().stripTrailing());
    }
  }

  @Test
  @DisplayName(
      "on a screen too small for all organs the log keeps five lines, and a line says what is hidden")
  void smallScreen() {
    GetHealthResponse.Builder many = GetHealthResponse.newBuilder();
    IntStream.rangeClosed(1, 30)
        .forEach(number -> many.addStatuses(status("organ" + number, Level.LEVEL_UP, "")));
    List<String> page =
        page(
            new ConsoleFacts.Answer(
                ExplainResponse.newBuilder().setLevel(Level.LEVEL_UP).setStanding("x").build(),
                many.build()),
            80,
            24);
    assertEquals("… 17 more lines: use a taller screen", page.get(16));
    assertTrue(page.get(17).startsWith("-- log of all parts"), page::toString);
    assertEquals("             cluster I line 36", page.get(18));
    assertEquals("             cluster I line 40", page.get(22));
  }

  @Test
  @DisplayName("a recovery key is counted while it is typed, and never shown")
  void secretPrompt() {
    List<String> page =
        text(
            ConsolePage.lines(
                state(waiting(), Prompt.RECOVERY_KEY, "MC4CAQAwBQYDK2VuBCIE"), 120, 24));
    assertTrue(page.getLast().contains("20 characters so far"), page::toString);
    assertFalse(String.join("\n", page).contains("MC4CAQ"), page::toString);
  }
}
