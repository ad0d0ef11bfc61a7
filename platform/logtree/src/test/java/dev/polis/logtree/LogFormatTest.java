package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LogFormatTest {
  private static final String APISERVER = "root.role.kubernetes.run.kubernetes.apiserver";
  private static final Instant TIME = Instant.parse("2026-01-02T15:04:05.000006Z");

  @Test
  @DisplayName("LOG-08 the concise form at 120 columns: name in 20, letter, text")
  void log08_concise() {
    assertEquals(
        "       k8s apiserver W Hello there!",
        LogFormat.concise(leveled(APISERVER, Severity.WARNING, "Hello there!"), 120));
    assertEquals(
        "       k8s apiserver R raw line",
        LogFormat.concise(new LogEntry(APISERVER, 1, LogPayload.Raw.of("raw line")), 0));
  }

  @Test
  @DisplayName("LOG-08 further lines continue with a bar")
  void log08_conciseMultiLine() {
    assertEquals(
        """
               k8s apiserver E Hello there!
                             | I am multiline.
                             | At last.\
        """,
        LogFormat.concise(
            leveled(APISERVER, Severity.ERROR, "Hello there!\nI am multiline.\nAt last."), 120));
  }

  @Test
  @DisplayName("LOG-08 long lines wrap at words, at 120 columns, and nothing is lost")
  void log08_conciseWraps() {
    String text =
        "according to all known laws of the log tree, a line that is longer than the terminal "
            + "is wide goes on in the next one, and so on until all of its words were said to "
            + "whoever reads it";
    String concise = LogFormat.concise(leveled(APISERVER, Severity.INFO, text), 120);

    List<String> lines = concise.lines().toList();

    assertEquals(2, lines.size());
    assertTrue(lines.stream().allMatch(line -> line.length() <= 120), concise);
    assertTrue(lines.getFirst().length() > 110, concise);
    assertTrue(lines.get(1).startsWith(" ".repeat(21) + "| "), concise);
    assertEquals(text, lines.stream().map(l -> l.substring(23)).collect(Collectors.joining(" ")));
    assertEquals(1, LogFormat.concise(leveled("a", Severity.INFO, text), 0).lines().count());
  }

  @Test
  @DisplayName("LOG-08 a word longer than the line is broken")
  void log08_conciseBreaksWords() {
    assertEquals(
        "I xxxxxxxx\n| xxxxxxxx\n| x",
        LogFormat.concise(leveled("a", Severity.INFO, "x".repeat(17)), 10));
    assertEquals(
        "I \uD83D\uDE00\n| \uD83D\uDE00",
        LogFormat.concise(leveled("a", Severity.INFO, "\uD83D\uDE00\uD83D\uDE00"), 3));
  }

  @Test
  @DisplayName("LOG-08 at 60 columns the name has 16, at 40 none")
  void log08_conciseNarrow() {
    LogEntry entry = leveled(APISERVER, Severity.WARNING, "Hello there!");

    assertEquals("   k8s apiserver W Hello there!", LogFormat.concise(entry, 60));
    assertEquals("   k8s apiserver W Hello there!", LogFormat.concise(entry, 79));
    assertEquals("W Hello there!", LogFormat.concise(entry, 59));
    assertEquals("W Hello there!", LogFormat.concise(entry, 40));
  }

  @Test
  @DisplayName("LOG-09 names are shortened to 20")
  void log09_shortenedNames() {
    assertShortened(
        "cplane autopromoter", "root.role.controlplane.launcher.consensus.autopromoter");
    assertShortened("net ifaces", "networking.interfaces");
    assertShortened("hostsfile", "hostsfile");
    assertShortened("dhcp-server", "root.dhcp-server");
    assertShortened(
        "...cant be shortened", "this.one.here.is.a.very.long.name.that.cant.be.shortened");
    assertShortened("net ifaces dhcp", "network.interfaces.dhcp");
    assertShortened("k8s apiserver", APISERVER);
    assertShortened("k8s", "root.role.kubernetes");
    assertShortened("root", "root");
    assertShortened("role", "root.role");
    assertShortened("", "");
  }

  @Test
  @DisplayName("the full form has journal, severity, time and place in each line")
  void fullForm() {
    assertEquals(
        """
        root.storage                     W0102 15:04:05.000006 Mount.java:7] one
        root.storage                     W0102 15:04:05.000006 Mount.java:7] two\
        """,
        LogFormat.full(leveled("root.storage", Severity.WARNING, "one\ntwo")));
    assertEquals(
        "root.etcd                        R " + "x".repeat(1024) + "...",
        LogFormat.full(new LogEntry("root.etcd", 1, LogPayload.Raw.of("x".repeat(2000)))));
  }

  @Test
  @DisplayName("control characters do not reach the terminal")
  void controlCharactersAreShown() {
    LogEntry entry = new LogEntry("a", 1, LogPayload.Raw.of("\u001b[2Jcolumns:\ta\r\u009b"));

    assertEquals("R ?[2Jcolumns: a??", LogFormat.concise(entry, 40));
    assertTrue(LogFormat.full(entry).endsWith("R ?[2Jcolumns: a??"));
  }

  private static void assertShortened(String expected, String dn) {
    assertEquals(expected, Dn.shorten(dn, 20));
  }

  private static LogEntry leveled(String dn, Severity severity, String message) {
    return new LogEntry(dn, 1, LogPayload.Leveled.of(severity, TIME, "Mount.java:7", message));
  }
}
