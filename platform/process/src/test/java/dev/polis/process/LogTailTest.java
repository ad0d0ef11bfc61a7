package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.logtree.convert.LineConverter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogTailTest {
  private static final long BIG = 1L << 20;

  @TempDir Path directory;
  private Path log;
  private final List<String> lines = new ArrayList<>();
  private final Children children = new Children();

  @BeforeEach
  void name() {
    log = directory.resolve("x.log");
  }

  @AfterEach
  void nothingStays() throws Exception {
    children.killAll();
  }

  private LogTail tail(long limit) {
    return new LogTail(log, directory.resolve("x.tail"), limit, LineConverter.raw(), this::line);
  }

  private void line(LogPayload line) {
    lines.add(((LogPayload.Raw) line).data());
  }

  private void append(String text) throws Exception {
    Files.writeString(log, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  @Test
  @DisplayName("a missing log counts as empty")
  void missing() throws Exception {
    assertEquals(0, tail(BIG).poll());
  }

  @Test
  @DisplayName("a silent log is read less often, until it gets new lines")
  void pace() throws Exception {
    try (LogTail tail = tail(BIG)) {
      append("one\n");
      tail.poll();
      assertEquals(Duration.ofMillis(200), tail.pause());

      for (int second = 0; second < 5; second++) {
        assertEquals(0, tail.poll());
      }
      assertEquals(Duration.ofSeconds(1), tail.pause());

      append("two\n");
      assertEquals(4, tail.poll());
      assertEquals(Duration.ofMillis(200), tail.pause());
    }
  }

  @Test
  @DisplayName("complete lines are delivered once, and an incomplete one waits for its end")
  void lines() throws Exception {
    try (LogTail tail = tail(BIG)) {
      append("one\ntw");
      tail.poll();
      assertEquals(List.of("one"), lines);
      append("o\n");
      tail.poll();
      assertEquals(0, tail.poll());
    }
    assertEquals(List.of("one", "two"), lines);
  }

  @Test
  @DisplayName("the next reader continues where the last one stopped, also within a line")
  void resumes() throws Exception {
    append("one\ntw");
    try (LogTail first = tail(BIG)) {
      first.poll();
    }
    append("o\nthree\n");
    try (LogTail second = tail(BIG)) {
      second.poll();
    }
    assertEquals(List.of("one", "two", "three"), lines);
  }

  @Test
  @DisplayName("a reader that was never closed loses no line")
  void resumesAfterKill() throws Exception {
    append("one\n");
    tail(BIG).poll();
    append("two\n");
    tail(BIG).poll();
    assertEquals(List.of("one", "two"), lines);
  }

  @Test
  @DisplayName("a file that is truncated during a rotation does not hold the reader")
  void truncatedDuringRotation() throws Exception {
    append("one\n" + "x".repeat(100) + "\n");
    Consumer<LogPayload> truncating =
        line -> {
          line(line);
          assertDoesNotThrow(() -> Files.write(log, new byte[0]));
        };
    try (LogTail tail =
        new LogTail(log, directory.resolve("x.tail"), 10, LineConverter.raw(), truncating)) {
      assertTimeoutPreemptively(Duration.ofSeconds(20), tail::poll);
      assertEquals(0, Files.size(directory.resolve("x.log.1")));
      append("two\n");
      tail.poll();
    }
    assertEquals(List.of("one", "x".repeat(100), "two"), lines);
  }

  @Test
  @DisplayName("the last line counts without its newline once the process has ended")
  void finish() throws Exception {
    append("one\nlast line");
    try (LogTail tail = tail(BIG)) {
      tail.finish();
    }
    assertEquals(List.of("one", "last line"), lines);
  }

  @Test
  @DisplayName("after a damaged place the log is read from the start, and this is reported")
  void damagedPlace() throws Exception {
    append("one\n");
    Files.writeString(directory.resolve("x.tail"), "{\"offset\":");
    try (LogTail tail = tail(BIG)) {
      tail.poll();
    }
    assertEquals(2, lines.size());
    assertTrue(lines.getFirst().contains("x.tail"), lines.getFirst());
    assertEquals("one", lines.getLast());
  }

  @Test
  @DisplayName("a full log is rotated when it is quiet, without a loss")
  void rotates() throws Exception {
    try (LogTail tail = tail(10)) {
      append("0123456789\nhalf");
      tail.poll();
      assertTrue(Files.size(log) > 0, "not while lines come");
      tail.poll();
      assertEquals(0, Files.size(log));
      assertEquals("0123456789\nhalf", Files.readString(directory.resolve("x.log.1")));
      append(" and half\nnext\n");
      tail.poll();
    }
    assertEquals(List.of("0123456789", "half and half", "next"), lines);
  }

  @Test
  @DisplayName("a busy log is rotated at twice its limit")
  void rotatesBusy() throws Exception {
    try (LogTail tail = tail(10)) {
      append("0123456789\n0123456789\n");
      tail.poll();
    }
    assertEquals(0, Files.size(log));
    assertEquals(2, lines.size());
  }

  @Test
  @DisplayName(
      "after a death between truncation and saved place, the next reader begins at the start")
  void diedInRotation() throws Exception {
    append("0123456789\n");
    tail(BIG).poll();
    // The state after the truncation and before the new place is saved.
    Files.writeString(log, "new\n");
    tail(BIG).poll();
    assertEquals(List.of("0123456789", "new"), lines);
  }

  @Test
  @DisplayName("rotation while a child writes in bursts: every line arrives, the files stay small")
  void rotatesUnderChild() throws Exception {
    // Each burst waits until the previous one has been read and cut, so that no line is written
    // during the cut.
    int bursts = 20;
    int perBurst = 200;
    Path go = directory.resolve("go");
    // Each burst is one write: more than the limit, less than twice as much.
    String script =
        """
        i=0; b=0
        while [ $b -lt %d ]; do
          while [ ! -e %s ]; do sleep 0.005; done
          rm %s; n=0; s=
          while [ $n -lt %d ]; do s="${s}line $i
        "; i=$((i+1)); n=$((n+1)); done
          printf %%s "$s"; b=$((b+1))
        done
        exec sleep 1000
        """
            .formatted(bursts, go, go, perBurst);
    LogTree logs = LogTree.create();
    try (var manager = ProcessManager.open(directory, logs)) {
      ManagedProcess process = manager.ensure(children.shell("x", script));
      try (LogTail tail = tail(1000)) {
        for (int burst = 1; burst <= bursts; burst++) {
          Files.writeString(go, "");
          int wanted = burst * perBurst;
          Await.until(
              wanted + " lines have come",
              () -> {
                tail.poll();
                return lines.size() >= wanted;
              });
          Await.until(
              "the log is cut",
              () -> {
                tail.poll();
                return Files.size(log) == 0;
              });
        }
      }
      assertEquals(
          IntStream.range(0, bursts * perBurst).mapToObj(i -> "line " + i).toList(), lines);
      assertTrue(Files.size(directory.resolve("x.log.1")) < 20_000);
      assertTrue(process.running());
    }
  }

  @Test
  @DisplayName("lines reach the journal in the converter's form, unknown ones unchanged")
  void journal() throws Exception {
    LogTree logs = LogTree.create();
    try (var manager = ProcessManager.open(directory, logs)) {
      ManagedProcess process =
          manager.ensure(children.shell("x", "echo known; echo strange; exec sleep 1000"));
      try (LogTail tail =
          manager.tail(
              process,
              "root.x",
              line ->
                  line.equals("known")
                      ? java.util.Optional.of(LogPayload.Raw.of("KNOWN"))
                      : java.util.Optional.empty())) {
        Await.until(
            "both lines are in the journal",
            () -> {
              tail.poll();
              return journal(logs, "root.x").size() == 2;
            });
      }
      assertEquals(List.of("KNOWN", "strange"), journal(logs, "root.x"));
      assertFalse(process.adopted());
    }
  }

  @Test
  @DisplayName("a line of etcd too long for the journal keeps its level, time, place and message")
  void longLinesAreConverted() throws Exception {
    List<LogPayload> entries = new ArrayList<>();
    append(
        """
        {"level":"warn","ts":"2026-11-21T08:00:00.000Z","caller":"embed/etcd.go:1","msg":"slow",\
        "request":"%s"}
        """
            .formatted("x".repeat(5000)));

    try (LogTail tail =
        new LogTail(log, directory.resolve("x.tail"), BIG, new EtcdConverter(), entries::add)) {
      tail.poll();
    }

    LogPayload.Leveled entry = (LogPayload.Leveled) entries.getFirst();
    assertEquals(Severity.WARNING, entry.severity());
    assertEquals(Instant.parse("2026-11-21T08:00:00Z"), entry.timestamp());
    assertEquals("etcd.go:1", entry.location());
    assertTrue(entry.message().startsWith("slow, request: xxx"), entry.message());
    assertTrue(entry.message().endsWith("xxx... (5015 bytes)"), entry.message());
    assertEquals(1, entries.size());
  }

  private static List<String> journal(LogTree logs, String dn) {
    return Journal.lines(logs, dn);
  }
}
