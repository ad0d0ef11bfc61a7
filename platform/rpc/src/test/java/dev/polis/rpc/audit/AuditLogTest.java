package dev.polis.rpc.audit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs the audit log on a real directory. */
@Timeout(60)
class AuditLogTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  @TempDir Path directory;

  @BeforeEach
  void makeFolder() throws IOException {
    Files.createDirectory(folder());
  }

  private final LogTree logs = LogTree.create();

  private Path folder() {
    return directory.resolve("audit");
  }

  private AuditLog open() throws Exception {
    return open(AuditSettings.DEFAULT);
  }

  private AuditLog open(AuditSettings settings) throws Exception {
    AuditLog log = new AuditLog(settings, logs.log("audit-test"));
    log.open(folder());
    return log;
  }

  private static void write(AuditLog log, String text) throws InterruptedException {
    log.await(log.begin("c", "user \"o\"", "polis.Test/Change", text));
  }

  private List<AuditRecord> records() throws IOException {
    List<AuditRecord> records = new ArrayList<>();
    for (Path file : new AuditFolder(folder()).files()) {
      AuditScan.of(file, records::add);
    }
    return records;
  }

  private List<String> texts(AuditKind kind) throws IOException {
    return records().stream()
        .filter(record -> record.kind() == kind)
        .map(AuditRecord::text)
        .toList();
  }

  private AuditFolder.Verdict verify() throws Exception {
    return new AuditFolder(folder()).verify(Long.MAX_VALUE, Optional.empty());
  }

  private Path newest() throws IOException {
    return new AuditFolder(folder()).files().getLast();
  }

  @Test
  @DisplayName("a confirmed record is in the file, and each record names the one before")
  void awaitedRecordIsInTheFile() throws Exception {
    try (AuditLog log = open()) {
      for (int i = 0; i < 5; i++) {
        write(log, "change " + i);
        assertEquals("change " + i, texts(AuditKind.BEGIN).getLast());
      }
      log.end("c", "user \"o\"", "polis.Test/Change", "OK");
    }
    assertEquals(List.of("OK"), texts(AuditKind.END));
    assertEquals(List.of(), verify().faults());
    assertEquals(7, verify().last().sequence());
  }

  @Test
  @DisplayName("records that wait at the same time share an fsync, and none is lost")
  void concurrentRecordsAreAllKept() throws Exception {
    int callers = 64;
    int each = 50;
    try (AuditLog log = open();
        ExecutorService pool = new TestThreads()) {
      List<Future<?>> all = new ArrayList<>();
      for (int c = 0; c < callers; c++) {
        int caller = c;
        all.add(
            pool.submit(
                () -> {
                  for (int i = 0; i < each; i++) {
                    write(log, caller + "/" + i);
                  }
                  return null;
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
      assertEquals(callers * each, texts(AuditKind.BEGIN).stream().distinct().count());
    }
    assertEquals(List.of(), verify().faults());
  }

  @Test
  @DisplayName(
      "a full file is followed by a new one, the chain continues, and the oldest file is deleted")
  void filesAreRotated() throws Exception {
    try (AuditLog log = open(new AuditSettings(4096, 3))) {
      for (int i = 0; i < 200; i++) {
        write(log, "change " + i + " " + "x".repeat(100));
      }
      assertEquals(3, new AuditFolder(folder()).files().size());
    }
    AuditFolder.Verdict verdict = verify();
    assertEquals(List.of(), verdict.faults());
    assertTrue(verdict.first() > 1, verdict.toString());
    assertTrue(texts(AuditKind.BEGIN).getLast().startsWith("change 199 "));
  }

  @Test
  @DisplayName("the next process continues the chain of the previous one")
  void nextProcessContinuesTheChain() throws Exception {
    try (AuditLog log = open()) {
      write(log, "first");
    }
    AuditMark before = verify().last();
    try (AuditLog log = open()) {
      write(log, "second");
    }
    assertEquals(before.sequence() + 1, verify().last().sequence());
    assertEquals(List.of(), verify().faults());
  }

  @Test
  @DisplayName("a torn last record is cut off at the next start, and a record reports it")
  void tornRecordIsRepaired() throws Exception {
    try (AuditLog log = open()) {
      write(log, "kept");
      write(log, "torn");
    }
    byte[] whole = Files.readAllBytes(newest());
    int length = whole.length;
    // Every length that an interrupted append of the last record may leave.
    int start = new String(whole, StandardCharsets.UTF_8).trim().lastIndexOf('\n') + 1;
    for (int cut = length - 1; cut > start; cut -= 7) {
      Files.write(newest(), Arrays.copyOf(whole, cut));
      try (AuditLog log = open()) {
        write(log, "after");
      }
      assertEquals(List.of("kept", "after"), texts(AuditKind.BEGIN));
      assertEquals(1, texts(AuditKind.NOTE).size());
      assertTrue(
          texts(AuditKind.NOTE)
              .getFirst()
              .contains("removed " + (cut - start) + " unconfirmed bytes"),
          texts(AuditKind.NOTE).toString());
      assertEquals(List.of(), verify().faults());
    }
  }

  @Test
  @DisplayName("a file whose begin was interrupted by a loss of power is begun again")
  void emptyNewestFileIsBegunAgain() throws Exception {
    try (AuditLog log = open()) {
      write(log, "kept");
    }
    Files.createFile(folder().resolve(AuditFolder.name(2)));
    try (AuditLog log = open()) {
      write(log, "after");
    }
    assertEquals(List.of("kept", "after"), texts(AuditKind.BEGIN));
    assertEquals(List.of(), verify().faults());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a record that was changed, removed or inserted is found, and the rest stays readable")
  void changedRecordIsFound() throws Exception {
    try (AuditLog log = open()) {
      for (int i = 0; i < 20; i++) {
        write(log, "change " + i);
      }
    }
    List<String> lines = Files.readAllLines(newest());
    for (int line = 1; line < lines.size() - 1; line++) {
      List<String> changed = new ArrayList<>(lines);
      changed.set(line, lines.get(line).replace("change", "chance"));
      assertFaultAt(changed, line + 1);
      List<String> removed = new ArrayList<>(lines);
      removed.remove(line);
      assertFaultAt(removed, line + 1);
      List<String> added = new ArrayList<>(lines);
      added.add(line, lines.get(line));
      assertFaultAt(added, line + 2);
    }
  }

  private void assertFaultAt(List<String> lines, int line) throws Exception {
    Files.write(newest(), lines);
    List<AuditFault> faults = verify().faults();
    assertFalse(faults.isEmpty());
    assertTrue(faults.getFirst().line() - line <= 1, faults + " is not at line " + line);
    assertTrue(faults.size() <= 2, faults.toString());
  }

  @Test
  @Tag("attack")
  @DisplayName("records after a changed one in the middle are not cut off: a new file is begun")
  void damagedFileIsKept() throws Exception {
    try (AuditLog log = open()) {
      for (int i = 0; i < 20; i++) {
        write(log, "change " + i);
      }
    }
    Path damaged = newest();
    Files.writeString(damaged, Files.readString(damaged).replace("change 7", "chance 7"));
    byte[] evidence = Files.readAllBytes(damaged);
    try (AuditLog log = open()) {
      write(log, "after");
    }
    assertArrayEquals(evidence, Files.readAllBytes(damaged));
    assertEquals(1, verify().faults().size(), verify().toString());
    assertTrue(
        texts(AuditKind.FILE).getLast().contains("is damaged"), texts(AuditKind.FILE).toString());
  }

  @Test
  @Tag("attack")
  @DisplayName("a removed file and a shortened log are found")
  void missingFilesAreFound() throws Exception {
    try (AuditLog log = open(new AuditSettings(4096, 16))) {
      for (int i = 0; i < 100; i++) {
        write(log, "change " + i + " " + "x".repeat(100));
      }
    }
    AuditMark noted = verify().last();
    List<Path> files = new AuditFolder(folder()).files();
    Files.delete(files.get(1));
    assertTrue(
        verify().faults().getFirst().reason().contains("missing"), verify().faults().toString());
    Files.delete(files.getLast());
    List<AuditFault> faults =
        new AuditFolder(folder()).verify(Long.MAX_VALUE, Optional.of(noted)).faults();
    assertTrue(
        faults.getLast().reason().contains("which was expected, is not there"), faults.toString());
  }

  @Test
  @DisplayName("before the volume is open records are held, then written in their order")
  void recordsAreHeldUntilTheVolumeIsOpen() throws Exception {
    try (AuditLog log = new AuditLog(AuditSettings.DEFAULT, logs.log("audit-test"))) {
      for (int i = 0; i < 10; i++) {
        write(log, "early " + i);
      }
      log.open(folder());
      write(log, "late");
      assertEquals(11, texts(AuditKind.BEGIN).size());
      assertEquals("early 0", texts(AuditKind.BEGIN).getFirst());
    }
  }

  @Test
  @DisplayName("when too many records are held, changes are refused and memory does not grow")
  void fullMemoryRefusesChanges() throws Exception {
    try (AuditLog log = new AuditLog(AuditSettings.DEFAULT, logs.log("audit-test"))) {
      for (int i = 0; i < AuditLog.HELD; i++) {
        write(log, "early " + i);
      }
      AuditFullException refusal =
          assertThrows(AuditFullException.class, () -> write(log, "one too many"));
      assertTrue(refusal.getMessage().contains("nothing was changed"), refusal.getMessage());
      log.open(folder());
      log.await(log.call("c", "p", "m", "makes room"));
      write(log, "again");
      assertEquals(AuditLog.HELD + 1, texts(AuditKind.BEGIN).size());
    }
  }

  @Test
  @DisplayName("a failing disk is reported, and records are held and written once it works again")
  void fullDiskIsSaidAndRecoveredFrom() throws Exception {
    Path elsewhere = directory.resolve("not/there");
    try (AuditLog log = new AuditLog(AuditSettings.DEFAULT, logs.log("audit-test"));
        Watcher<AuditStatus> status = log.status().watch()) {
      log.open(elsewhere);
      status.get(now -> now instanceof AuditStatus.Failing, PATIENCE);
      write(log, "held");
      Files.createDirectories(elsewhere);
      status.get(now -> now instanceof AuditStatus.Open, PATIENCE);
      write(log, "after");
    }
    List<AuditRecord> found = new ArrayList<>();
    AuditScan.of(elsewhere.resolve(AuditFolder.name(1)), found::add);
    assertEquals(
        List.of("held", "after"),
        found.stream()
            .filter(record -> record.kind() == AuditKind.BEGIN)
            .map(AuditRecord::text)
            .toList());
  }

  @Test
  @DisplayName("a record that was written but not confirmed is cut off before it is written again")
  void unconfirmedRecordsAreNotDoubled() throws Exception {
    try (AuditLog log = open()) {
      write(log, "confirmed");
      write(log, "not confirmed");
    }
    try (AuditWriter writer =
        AuditWriter.open(new AuditFolder(folder()), AuditSettings.DEFAULT, 2)) {
      assertEquals(3, writer.last().sequence());
    }
    assertEquals(List.of("confirmed"), texts(AuditKind.BEGIN));
    assertEquals(1, texts(AuditKind.NOTE).size());
    assertEquals(List.of(), verify().faults());
  }

  @Test
  @DisplayName("a flood of refused strangers takes one line, and displaces no change")
  void refusalsAreCounted() throws Exception {
    try (AuditLog log = open()) {
      write(log, "a change");
      for (int i = 0; i < 100_000; i++) {
        log.refused("10.0." + i % 1000 + ".1", "UNAUTHENTICATED polis.Test/Change");
      }
    }
    List<String> lines = texts(AuditKind.REFUSALS);
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.getFirst().startsWith("100000 calls of strangers refused"), lines.toString());
    assertTrue(lines.getFirst().length() < 1200, lines.toString());
    assertEquals(List.of("a change"), texts(AuditKind.BEGIN));
  }

  @Test
  @DisplayName("sums of a long flood become ever rarer, down to one an hour")
  void tallyBacksOff() {
    long[] now = {0};
    AuditTally tally =
        new AuditTally("refused", Duration.ofSeconds(10), Duration.ofHours(1), () -> now[0]);
    int lines = 0;
    for (long second = 0; second < Duration.ofDays(1).toSeconds(); second++) {
      now[0] = Duration.ofSeconds(second).toNanos();
      if (tally.left().orElse(1) == 0) {
        lines += tally.take().isPresent() ? 1 : 0;
      }
      tally.add("from 10.0.0.1 UNAUTHENTICATED");
    }
    assertTrue(lines >= 24 && lines <= 33, lines + " lines in a day");
  }

  @Test
  @DisplayName("a caller cannot forge a line")
  void linesCannotBeForged() throws Exception {
    try (AuditLog log = open()) {
      write(log, "a\nb\tc\r\u0085\u001b[2J\ud800 \ud83d\ude00");
    }
    assertEquals(List.of("a?b?c???[2J? \ud83d\ude00"), texts(AuditKind.BEGIN));
    assertEquals(List.of(), verify().faults());
  }

  @Test
  @DisplayName("releasing writes the held records and closes the file; opening it again continues")
  void releaseAndOpenAgain() throws Exception {
    try (AuditLog log = open()) {
      write(log, "before");
      log.end("c", "p", "m", "outcome");
      log.release();
      assertEquals(List.of("outcome"), texts(AuditKind.END));
      assertTrue(log.folder().isEmpty());
      write(log, "between");
      log.open(folder());
      write(log, "after");
    }
    assertEquals(List.of("before", "between", "after"), texts(AuditKind.BEGIN));
    assertEquals(List.of(), verify().faults());
  }

  @Test
  @DisplayName("a reader gets each record once, across files, and a changed one is marked")
  void cursorReadsAcrossFiles() throws Exception {
    try (AuditLog log = open(new AuditSettings(4096, 16))) {
      for (int i = 0; i < 100; i++) {
        write(log, "change " + i + " " + "x".repeat(100));
      }
      assertEquals(
          texts(AuditKind.BEGIN),
          read(new AuditCursor(new AuditFolder(folder()), 0), log.confirmed()).stream()
              .map(AuditCursor.Entry::record)
              .filter(record -> record.kind() == AuditKind.BEGIN)
              .map(AuditRecord::text)
              .toList());
      List<AuditCursor.Entry> tail =
          read(new AuditCursor(new AuditFolder(folder()), log.confirmed() - 3), log.confirmed());
      assertEquals(3, tail.size());
      assertTrue(tail.stream().noneMatch(AuditCursor.Entry::broken));
    }
    List<Path> files = new AuditFolder(folder()).files();
    assertEquals(files.size() - 1, AuditFolder.begin(files, Long.MAX_VALUE), "reads one file");
    Path file = files.get(1);
    List<String> lines = new ArrayList<>(Files.readAllLines(file));
    lines.remove(3);
    Files.write(file, lines, StandardOpenOption.TRUNCATE_EXISTING);
    List<AuditCursor.Entry> all =
        read(new AuditCursor(new AuditFolder(folder()), 0), Long.MAX_VALUE);
    assertEquals(1, all.stream().filter(AuditCursor.Entry::broken).count());
  }

  private static List<AuditCursor.Entry> read(AuditCursor cursor, long upTo) throws IOException {
    List<AuditCursor.Entry> all = new ArrayList<>();
    for (List<AuditCursor.Entry> some = cursor.next(upTo, 7);
        !some.isEmpty();
        some = cursor.next(upTo, 7)) {
      all.addAll(some);
    }
    return all;
  }
}
