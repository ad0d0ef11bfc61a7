package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LogTreeTest {
  private final LogTree tree = LogTree.create();

  @Test
  @DisplayName("the number of an instance is left out of a journal's name, at any place in it")
  void instancesShareJournals() {
    assertEquals("root.storage.mount", Dn.journal("root.storage~2.mount"));
    assertEquals("root.storage", Dn.journal("root.storage~12"));
    assertEquals("root.a~b", Dn.journal("root.a~b"), "no number, so part of the name");
    assertThrows(IllegalArgumentException.class, () -> Dn.journal("root.~2.x"));

    LogTree logs = LogTree.create();
    logs.log("root.storage").info("first");
    logs.log("root.storage~2").info("second");
    logs.append("root.storage~3", LogPayload.Raw.of("third"));
    assertEquals(java.util.Set.of("root.storage"), logs.names());
    try (LogReader reader = logs.read(LogQuery.of("root.storage~2").backlogAll())) {
      assertEquals(
          java.util.List.of("root.storage", "root.storage", "root.storage"),
          reader.backlog().stream().map(LogEntry::dn).toList());
    }
  }

  @Test
  @DisplayName("LOG-01 a message is split into lines, newlines at its end are dropped")
  void log01_messageIsSplit() {
    tree.log("main").info("foo\nbar");
    tree.log("main").info("one\ntwo\n");

    List<LogEntry> entries = all("main");

    assertEquals(List.of("foo\nbar", "one\ntwo"), messages(entries));
    assertEquals(List.of("foo", "bar"), leveled(entries.getFirst()).lines());
  }

  @Test
  @DisplayName("LOG-02 a backlog contains the subtree; an unfinished raw line is withheld")
  void log02_backlogAll() throws IOException {
    tree.log("main").info("hello");
    tree.log("main.foo").info("hello foo");
    tree.log("main.bar").info("hello bar");
    tree.log("aux").info("hello aux");
    try (OutputStream raw = tree.raw("aux.process").stream()) {
      raw.write("processing foo\nprocessing bar\nbaz".getBytes(StandardCharsets.UTF_8));

      assertEquals(List.of("hello", "hello foo", "hello bar"), messages(subtree("main")));
      assertEquals(
          List.of(
              "hello", "hello foo", "hello bar", "hello aux", "processing foo", "processing bar"),
          messages(subtree("")));
      assertEquals(List.of("processing foo", "processing bar"), messages(all("aux.process")));
    }
    assertEquals("baz", message(all("aux.process").getLast()));
  }

  @Test
  @DisplayName("LOG-03 a backlog count takes the newest over the subtree, in order of time")
  void log03_backlogCount() {
    tree.log("main").info("0");
    tree.log("main.foo").info("1");
    tree.log("main").info("2");
    tree.log("main.bar").info("3");
    tree.log("main.foo").info("4");

    assertEquals(
        List.of("2", "3", "4"), messages(read(LogQuery.of("main").withChildren().backlog(3))));
    assertEquals(List.of("0", "2"), messages(read(LogQuery.of("main").backlog(3))));
    assertEquals(List.of(), messages(read(LogQuery.of("main").withChildren())));
  }

  @Test
  @DisplayName("LOG-05 V(10) is suppressed until the verbosity of its name is 10")
  void log05_verbosity() {
    Log log = tree.log("main");
    log.v(10).info("too early");
    assertFalse(log.v(10).enabled());

    tree.setVerbosity("main", 10);
    log.v(10).info("wanted %d", 1);
    log.v(11).info("beyond");
    tree.log("main.child").v(1).info("a name of its own");
    tree.setVerbosity("main", 0);
    log.v(10).info("too late");

    assertEquals(List.of("wanted 1"), messages(subtree("main")));
    assertThrows(IllegalArgumentException.class, () -> tree.setVerbosity("main", -1));
  }

  @Test
  @DisplayName("LOG-06 severity, place and time are recorded; a minimum filters")
  void log06_severityAndPlace() {
    Instant before = Instant.now();
    Log log = tree.log("main");
    log.error("i am an error");
    log.warning("i am a warning");
    log.info("i am informative");
    log.v(0).info("i am a zero-level debug");
    log.log(Severity.FATAL, "i am the end");
    tree.raw("main").line("i am raw");

    List<LogEntry> entries = read(LogQuery.of("main").backlogAll().leveledOnly());

    assertEquals(
        List.of(Severity.ERROR, Severity.WARNING, Severity.INFO, Severity.INFO, Severity.FATAL),
        entries.stream().map(entry -> leveled(entry).severity()).toList());
    int firstLine = lineOf(entries.getFirst());
    for (int i = 0; i < entries.size(); i++) {
      assertEquals("LogTreeTest.java:" + (firstLine + i), leveled(entries.get(i)).location());
      assertFalse(leveled(entries.get(i)).timestamp().isBefore(before));
    }
    assertEquals(
        List.of("i am an error", "i am a warning", "i am the end"),
        messages(read(LogQuery.of("main").backlogAll().minimumSeverity(Severity.WARNING))));
    assertEquals(List.of("i am raw"), messages(read(LogQuery.of("main").backlogAll().rawOnly())));
  }

  @Test
  @DisplayName("LOG-06 only raw and only leveled together, or a severity of raw, is refused")
  void log06_contradictionsAreRefused() {
    LogQuery raw = LogQuery.of("main").rawOnly();
    LogQuery leveled = LogQuery.of("main").leveledOnly();

    assertThrows(IllegalArgumentException.class, raw::leveledOnly);
    assertThrows(IllegalArgumentException.class, leveled::rawOnly);
    assertThrows(IllegalArgumentException.class, () -> raw.minimumSeverity(Severity.ERROR));
    assertThrows(IllegalArgumentException.class, () -> leveled.backlog(-1));
  }

  @Test
  @DisplayName("LOG-07 an added stack depth records the caller's place")
  void log07_addedStackDepth() {
    Log log = tree.log("main");
    logOnBehalf(log, 0);
    logOnBehalf(log, 1);
    logOnBehalf(log, 10_000);

    List<LogEntry> entries = all("main");

    assertEquals(lineOf(entries.getFirst()), HELPER_LINE);
    assertTrue(lineOf(entries.get(1)) < HELPER_LINE, () -> entries.get(1).toString());
    assertEquals("", leveled(entries.get(2)).location());
  }

  private static final String ON_BEHALF = "on behalf of a caller";
  private static final int HELPER_LINE = new Throwable().getStackTrace()[0].getLineNumber() + 3;

  private static void logOnBehalf(Log log, int depth) {
    log.withAddedStackDepth(depth).info(ON_BEHALF);
  }

  @Test
  @DisplayName("LOG-07 a log made with here() records that place, with any caller and any depth")
  void log07_here() {
    Log here = tree.log("main").here();
    String place = leveled(entryOf(() -> tree.log("main").here().info("x"))).location();
    here.info("first");
    logOnBehalf(here, 0);
    logOnBehalf(here, 1);
    here.v(0).error("last");

    List<LogEntry> entries = all("main");

    List<String> places =
        entries.stream().skip(1).map(entry -> leveled(entry).location()).distinct().toList();
    int line = Integer.parseInt(place.substring(place.indexOf(':') + 1));
    assertEquals(List.of("LogTreeTest.java:" + (line - 1)), places);
    assertEquals(List.of("x", "first", ON_BEHALF, ON_BEHALF, "last"), messages(entries));
  }

  private LogEntry entryOf(Runnable logging) {
    logging.run();
    return all("main").getLast();
  }

  @Test
  @DisplayName("LOG-10 a journal keeps its newest 8192 entries; a quiet one keeps all")
  void log10_quota() {
    LogTree roomy =
        LogTree.create(new LogLimits(8192, Long.MAX_VALUE, LogLimits.DEFAULT.timeToLive()));
    RawLog loud = roomy.raw("main.loud");
    RawLog quiet = roomy.raw("main.quiet");
    for (int i = 0; i < 9000; i++) {
      loud.line("loud " + i);
      if (i < 900) {
        quiet.line("quiet " + i);
      }
    }

    assertEquals(
        IntStream.range(9000 - 8192, 9000).mapToObj(i -> "loud " + i).toList(),
        messages(roomy.read(LogQuery.of("main.loud").backlogAll()).backlog()));
    assertEquals(
        IntStream.range(0, 900).mapToObj(i -> "quiet " + i).toList(),
        messages(roomy.read(LogQuery.of("main.quiet").backlogAll()).backlog()));
    List<LogEntry> everything =
        roomy.read(LogQuery.of("main").withChildren().backlogAll()).backlog();
    assertEquals(9092, everything.size());
    assertInOrder(everything);
  }

  @Test
  @DisplayName("LOG-11 a subtree contains exactly the names at and below it (random names)")
  void log11_subtreeIsExact() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    // '-' sorts before '.', '/' and '0' after it: neighbours that an index may confuse.
    List<String> parts = List.of("a", "b", "ab", "a-", "a/", "a0", "bc", "-", "b-c");
    for (int round = 0; round < 200; round++) {
      LogTree forest = LogTree.create();
      Set<String> names = new TreeSet<>();
      List<LogEntry> appended = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        String dn = randomName(random, parts);
        names.add(dn);
        forest.append(dn, LogPayload.Raw.of(dn + "#" + i));
        appended.add(new LogEntry(dn, i, LogPayload.Raw.of(dn + "#" + i)));
      }
      String asked = randomName(random, parts);
      int count = random.nextInt(50);

      List<LogEntry> found =
          forest.read(LogQuery.of(asked).withChildren().backlog(count)).backlog();

      List<String> expected =
          appended.stream()
              .filter(
                  e -> ("." + e.dn() + ".").startsWith(asked.isEmpty() ? "." : "." + asked + "."))
              .map(LogTreeTest::message)
              .toList();
      int from = Math.max(0, expected.size() - count);
      assertEquals(
          expected.subList(from, expected.size()),
          messages(found),
          () -> "subtree of \"" + asked + "\", seed " + seed);
      assertEquals(names, forest.names(), () -> "seed " + seed);
    }
  }

  private static String randomName(Random random, List<String> parts) {
    return String.join(
        ".",
        Stream.generate(() -> parts.get(random.nextInt(parts.size())))
            .limit(random.nextInt(4))
            .toList());
  }

  @Test
  @DisplayName("LOG-11 a.b is not an ancestor of a.bc")
  void log11_neighboursAreNotChildren() {
    for (String dn : List.of("a.b", "a.b.c", "a.bc", "a.b-c", "a.b/c", "a", "b")) {
      tree.append(dn, LogPayload.Raw.of(dn));
    }

    assertEquals(List.of("a.b", "a.b.c"), messages(subtree("a.b")));
  }

  @Test
  @DisplayName("a name with an empty part is refused with the reason")
  void namesAreChecked() {
    for (String dn : List.of(".", "a.", ".a", "a..b")) {
      var refusal = assertThrows(IllegalArgumentException.class, () -> tree.log(dn));
      assertTrue(refusal.getMessage().contains('"' + dn + '"'), refusal.getMessage());
      assertThrows(IllegalArgumentException.class, () -> LogQuery.of(dn));
      assertThrows(IllegalArgumentException.class, () -> tree.append(dn, LogPayload.Raw.of("x")));
    }
  }

  @Test
  @DisplayName("LOG-15 invalid UTF-8 becomes <INVALID>, in raw and leveled entries")
  void log15_invalidTextIsReplaced() throws IOException {
    try (OutputStream raw = tree.raw("main").stream()) {
      raw.write(new byte[] {'a', (byte) 0xc5, 'z', '\n'});
      raw.write(new byte[] {(byte) 0xff, (byte) 0xfe, 'z', (byte) 0xc5, '\n'});
      raw.write("\uFFFD is valid, and so is \uD83D\uDE00\n".getBytes(StandardCharsets.UTF_8));
    }
    tree.log("main").info("a\uD83Dz");
    tree.raw("main").line("\uDE00\uDE00 \uD83D\uDE00");

    assertEquals(
        List.of(
            "a<INVALID>z",
            "<INVALID>z<INVALID>",
            "\uFFFD is valid, and so is \uD83D\uDE00",
            "a<INVALID>z",
            "<INVALID> \uD83D\uDE00"),
        messages(all("main")));
    assertEquals(3, ((LogPayload.Raw) all("main").getFirst().payload()).originalLength());
  }

  @Test
  @DisplayName(
      "a leveled line is cut at 1024 bytes with its length; the number of lines is limited, too")
  void leveledLinesAreCut() {
    tree.log("main").info("é".repeat(5000));
    tree.log("main").info("x\n".repeat(1000));

    String cut = leveled(all("main").getFirst()).lines().getFirst();
    List<String> lines = leveled(all("main").getLast()).lines();

    assertTrue(cut.endsWith("é... (10000 bytes)"), cut);
    assertTrue(cut.getBytes(StandardCharsets.UTF_8).length <= LogPayload.MAX_LINE_BYTES, cut);
    assertEquals(LogPayload.MAX_LINES, lines.size());
    assertEquals("... (745 more lines)", lines.getLast());
  }

  @Test
  @DisplayName(
      "memory is bounded over all journals: the largest loses entries, quiet ones keep theirs")
  void memoryIsBounded() {
    long budget = 1 << 20;
    JournalTree small = new JournalTree(new LogLimits(8192, budget, Duration.ofHours(1)));
    small.raw("quiet").line("precious");
    RawLog[] loud = {small.raw("loud.a"), small.raw("loud.b"), small.raw("loud.c")};

    for (int i = 0; i < 20_000; i++) {
      loud[i % loud.length].line("noise " + i);
      assertTrue(small.bytes() <= budget, "over budget after " + i);
    }

    assertEquals(
        List.of("precious"), messages(small.read(LogQuery.of("quiet").backlogAll()).backlog()));
    List<LogEntry> noise = small.read(LogQuery.of("loud").withChildren().backlogAll()).backlog();
    assertEquals("noise 19999", message(noise.getLast()));
    assertTrue(noise.size() > 4000, "the budget holds more than " + noise.size());
  }

  @Test
  @DisplayName(
      "a journal that lost entries and grew again has the rest in order, and all losses are counted")
  void journalGrowsInOrder() {
    Random random = new Random(7);
    Journal journal = new Journal("main", 0);
    List<LogEntry> expected = new ArrayList<>();
    for (int i = 1; i <= 5000; i++) {
      LogEntry entry = new LogEntry("main", i, LogPayload.Raw.of("line " + i));
      journal.append(entry, 300, 0);
      expected.add(entry);
      if (expected.size() > 300) {
        expected.removeFirst();
      }
      if (random.nextInt(20) == 0) {
        int given = random.nextInt(1 + expected.size() / 2);
        journal.dropOldest(given, i);
        expected.subList(0, given).clear();
      }
      List<LogEntry> found = new ArrayList<>();
      for (int place = journal.firstAfter(0); place < journal.size(); place++) {
        found.add(journal.entry(place));
      }
      assertEquals(expected, found);
      int after = random.nextInt(i + 1);
      assertEquals(
          expected.stream().filter(each -> each.sequence() <= after).count(),
          journal.firstAfter(after));
    }
    journal.dropOldest(LogQuery.ALL, 5000);
    assertEquals(0, journal.bytes());
    assertEquals(5000, journal.newestSequence());
  }

  private List<LogEntry> all(String dn) {
    return read(LogQuery.of(dn).backlogAll());
  }

  private List<LogEntry> subtree(String dn) {
    return read(LogQuery.of(dn).withChildren().backlogAll());
  }

  private List<LogEntry> read(LogQuery query) {
    try (LogReader reader = tree.read(query)) {
      return reader.backlog();
    }
  }

  private static void assertInOrder(List<LogEntry> entries) {
    for (int i = 1; i < entries.size(); i++) {
      assertTrue(entries.get(i - 1).sequence() < entries.get(i).sequence(), "at " + i);
    }
  }

  private static int lineOf(LogEntry entry) {
    String location = leveled(entry).location();
    return Integer.parseInt(location.substring(location.indexOf(':') + 1));
  }

  static LogPayload.Leveled leveled(LogEntry entry) {
    return (LogPayload.Leveled) entry.payload();
  }

  static List<String> messages(List<LogEntry> entries) {
    return entries.stream().map(LogTreeTest::message).toList();
  }

  static String message(LogEntry entry) {
    return switch (entry.payload()) {
      case LogPayload.Leveled leveled -> leveled.message();
      case LogPayload.Raw raw -> raw.data();
    };
  }
}
