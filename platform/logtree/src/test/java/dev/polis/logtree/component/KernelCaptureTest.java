package dev.polis.logtree.component;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogLimits;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Writes the records of a kernel into a pipe, from which a read waits as from the device. */
class KernelCaptureTest {
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();

  @TempDir Path folder;
  private final LogTree tree =
      LogTree.create(new LogLimits(2 * KernelCapture.BURST, 32 << 20, Duration.ofMinutes(1)));
  private volatile long nanos = MINUTE;
  private RandomAccessFile kernel;
  private KernelCapture capture;

  @BeforeEach
  void start() throws Exception {
    Path pipe = folder.resolve("kmsg");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    // Opened for both, so that no open waits for the other side.
    kernel = new RandomAccessFile(pipe.toFile(), "rw");
    capture = KernelCapture.start(tree, pipe, () -> nanos);
  }

  @AfterEach
  void close() throws Exception {
    capture.close();
    kernel.close();
  }

  @Test
  @DisplayName(
      "LOG-13 messages of the kernel are logged with their severity and the time at which they came; other lines are not")
  void logged() throws Exception {
    write("garbage\n6;no record\n,,,;\n");
    write("6,1,1000000,-;Linux version 6.1\n");
    write("3,2,59000000,-;I/O error, dev vda\n SUBSYSTEM=block\n DEVICE=b254:0\n");
    write("28,3,60000000,-;a warning of a program\n");
    List<LogEntry> entries = await(3);
    assertEquals(
        List.of("Linux version 6.1", "I/O error, dev vda", "a warning of a program"),
        entries.stream().map(each -> leveled(each).message()).toList());
    assertEquals(
        List.of(Severity.INFO, Severity.ERROR, Severity.WARNING),
        entries.stream().map(each -> leveled(each).severity()).toList());
    Duration ago = Duration.between(leveled(entries.getFirst()).timestamp(), Instant.now());
    assertTrue(ago.compareTo(Duration.ofSeconds(59)) >= 0, ago::toString);
  }

  @Test
  @DisplayName("Of a flood only the burst is logged, and later how many are left out")
  void flood() throws Exception {
    // A pipe holds 64 KiB, so far more than the burst was read when all is written.
    for (int i = 0; i < 3 * KernelCapture.BURST; i++) {
      write("4,%d,60000000,-;flood\n".formatted(i));
    }
    assertEquals(KernelCapture.BURST, await(KernelCapture.BURST).size());
    nanos += Duration.ofSeconds(1).toNanos();
    write("4,0,60000000,-;after\n");
    List<LogEntry> entries = await(KernelCapture.BURST + 1);
    String words = leveled(entries.get(KernelCapture.BURST)).message();
    assertTrue(words.endsWith(" messages of the kernel came too fast and are not logged"), words);
  }

  @Test
  @DisplayName("A close ends a read that waits")
  void closes() throws Exception {
    write("6,1,1000000,-;one\n");
    await(1);
    capture.close();
    write("6,2,1000000,-;two\n");
    assertEquals(1, await(1).size());
  }

  private void write(String record) throws Exception {
    kernel.write(record.getBytes(StandardCharsets.UTF_8));
  }

  private List<LogEntry> await(int entries) throws Exception {
    Await.until(entries + " entries of the kernel", () -> entries().size() >= entries);
    return entries();
  }

  private List<LogEntry> entries() {
    try (var reader = tree.read(LogQuery.of(KernelCapture.DN).backlogAll())) {
      return reader.backlog();
    }
  }

  private static LogPayload.Leveled leveled(LogEntry entry) {
    return (LogPayload.Leveled) entry.payload();
  }
}
