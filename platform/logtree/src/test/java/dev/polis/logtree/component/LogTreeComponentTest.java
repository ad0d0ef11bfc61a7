package dev.polis.logtree.component;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.Secret;
import dev.polis.logtree.Severity;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.annotation.Annotation;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class LogTreeComponentTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream terminal = new PrintStream(printed, true, StandardCharsets.UTF_8);
  private final PrintStream formerOut = System.out;
  private final PrintStream formerErr = System.err;

  @BeforeEach
  void replaceTerminal() {
    System.setOut(terminal);
    System.setErr(terminal);
  }

  @AfterEach
  void restoreTerminal() {
    System.setOut(formerOut);
    System.setErr(formerErr);
  }

  @Test
  @DisplayName("java.util.logging and SLF4J are logged by logger name, with their level")
  void librariesAreLogged() {
    LogTreeComponent component = activate();
    try {
      Logger.getLogger("org.example.Library").warning("from java.util.logging");
      LoggerFactory.getLogger("org.example.Facade").error("from SLF4J: {}", "text");
      Logger.getLogger("dev.polis.storage.Mount").info("ours");
      Logger.getLogger("org.example.Library").log(Level.SEVERE, "parameter {0}", Secret.of("key"));
      Logger.getLogger("org.example.Library").log(Level.SEVERE, "thrown", new Exception("why"));
      Logger.getLogger("org.example.Library").log(Level.INFO, "not { a format", new Object[] {1});
      Logger.getLogger("org.example.Library").fine("below the level");

      List<LogEntry> library = entries(component, "jvm.org.example.Library");

      assertEquals(4, library.size());
      assertLeveled(library.get(0), Severity.WARNING, "from java.util.logging");
      assertLeveled(library.get(1), Severity.ERROR, "parameter <secret 3 bytes>");
      assertTrue(leveled(library.get(2)).lines().get(1).contains("java.lang.Exception: why"));
      assertLeveled(library.get(3), Severity.INFO, "not { a format");
      assertEquals(
          "LogTreeComponentTest.librariesAreLogged", leveled(library.getFirst()).location());
      assertLeveled(
          entries(component, "jvm.org.example.Facade").getFirst(),
          Severity.ERROR,
          "from SLF4J: text");
      assertLeveled(entries(component, "root.storage").getFirst(), Severity.INFO, "ours");
      assertEquals("", printed());
    } finally {
      component.deactivate();
    }
  }

  @Test
  @DisplayName("names of loggers become names of the tree")
  void loggerNames() {
    assertEquals("jvm", JulCapture.dn(null));
    assertEquals("jvm", JulCapture.dn(""));
    assertEquals("jvm", JulCapture.dn("..."));
    assertEquals("jvm.a.b", JulCapture.dn(".a..b."));
    assertEquals("root.storage", JulCapture.dn("dev.polis.storage"));
    assertEquals("root.storage", JulCapture.dn("dev.polis.storage.a.B"));
    assertEquals("jvm.dev.polis", JulCapture.dn("dev.polis."));
  }

  @Test
  @DisplayName("standard output and error are logged line by line, and are still printed")
  void standardStreamsAreLogged() {
    LogTreeComponent component = activate();
    try {
      System.out.println("to output");
      System.out.print("half ");
      System.err.printf("to error: %d%n", 7);
      System.out.println("a line, é");

      assertEquals(List.of("to output", "half a line, é"), raw(component, "stdout"));
      assertEquals(List.of("to error: 7"), raw(component, "stderr"));
      assertEquals("to output\nhalf to error: 7\na line, é\n", printed());
    } finally {
      component.deactivate();
    }
  }

  @Test
  @DisplayName("the console prints the entries that its rules admit, and does not log its output")
  void consolePrints() {
    LogTreeComponent component =
        activate("=ERROR", "root.storage=INFO", "root.storage.noise=FATAL");
    component.log("root.network").info("not printed");
    component.log("root.network").error("printed: network");
    component.log("root.storage.mount").info("printed: storage");
    component.log("root.storage.noise").error("not printed");
    component.raw("root.etcd").line("not printed");
    component.deactivate();

    List<String> lines = printed().lines().toList();

    assertEquals(2, lines.size(), printed());
    assertTrue(lines.get(0).startsWith("root.network"), printed());
    assertTrue(lines.get(0).endsWith("] printed: network"), printed());
    assertTrue(lines.get(1).endsWith("] printed: storage"), printed());
    assertEquals(List.of(), entries(component, "stdout"));
  }

  @Test
  @DisplayName("an invalid console rule is refused with its text, and nothing is left behind")
  void badRulesAreRefused() {
    Handler[] handlers = Logger.getLogger("").getHandlers();
    for (String rule : List.of("root.storage", "root=LOUD", "a..b=INFO")) {
      var refusal = assertThrows(IllegalArgumentException.class, () -> activate(rule));
      assertTrue(refusal.getMessage().contains(rule.split("=")[0]), refusal.getMessage());
    }
    assertSame(terminal, System.out);
    assertArrayEquals(handlers, Logger.getLogger("").getHandlers());
  }

  @Test
  @DisplayName("deactivation restores handlers and streams, and ends the console's thread")
  void deactivationLeavesNothing() {
    Handler[] handlers = Logger.getLogger("").getHandlers();
    LogTreeComponent component = activate("=INFO");
    assertFalse(List.of(handlers).equals(List.of(Logger.getLogger("").getHandlers())));
    assertFalse(System.out == terminal);

    component.deactivate();

    assertArrayEquals(handlers, Logger.getLogger("").getHandlers());
    assertSame(terminal, System.out);
    assertSame(terminal, System.err);
    component.log("root").fatal("after the end");
    assertEquals("", printed());
  }

  @Test
  @DisplayName("streams that other code replaced meanwhile are not restored")
  void foreignStreamsAreKept() {
    LogTreeComponent component = activate();
    PrintStream theirs = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
    System.setOut(theirs);

    component.deactivate();

    assertSame(theirs, System.out);
    assertSame(terminal, System.err);
  }

  @Test
  @DisplayName("a record without message, source or known level is logged")
  void oddRecordsAreLogged() {
    LogTreeComponent component = activate();
    try {
      LogRecord record = new LogRecord(Level.parse("950"), null);
      record.setSourceClassName(null);
      Logger.getLogger("").log(record);

      LogPayload.Leveled odd = leveled(entries(component, "jvm").getFirst());

      assertEquals("null", odd.message());
      assertEquals(Severity.WARNING, odd.severity());
      assertEquals("", odd.location());
    } finally {
      component.deactivate();
    }
  }

  private static LogTreeComponent activate(String... console) {
    return new LogTreeComponent(new Configuration(console));
  }

  private static List<LogEntry> entries(LogTreeComponent component, String dn) {
    return component.read(LogQuery.of(dn).backlogAll()).backlog();
  }

  private static List<String> raw(LogTreeComponent component, String dn) {
    return entries(component, dn).stream()
        .map(entry -> ((LogPayload.Raw) entry.payload()).data())
        .toList();
  }

  private static void assertLeveled(LogEntry entry, Severity severity, String message) {
    assertEquals(severity, leveled(entry).severity());
    assertEquals(message, leveled(entry).message());
  }

  private static LogPayload.Leveled leveled(LogEntry entry) {
    return (LogPayload.Leveled) entry.payload();
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }

  private record Configuration(String[] console) implements LogTreeConfiguration {
    @Override
    public int entries_per_journal() {
      return 8192;
    }

    @Override
    public int mebibytes() {
      return 1;
    }

    @Override
    public int minutes_to_live() {
      return 60;
    }

    @Override
    public boolean capture_standard_streams() {
      return true;
    }

    @Override
    public String kernel() {
      return "";
    }

    @Override
    public int console_columns() {
      return 0;
    }

    @Override
    public Class<? extends Annotation> annotationType() {
      return LogTreeConfiguration.class;
    }
  }
}
