package dev.polis.rpc.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.posix.Mounts;
import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.logtree.LogTree;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Fills the file system of the audit log, so that the kernel refuses its writes with ENOSPC. */
@Timeout(60)
class AuditDiskFullTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /** A page of a file in memory, which is the unit of ENOSPC. */
  private static final int PAGE = 4096;

  @TempDir static Path directory;

  private final LogTree logs = LogTree.create();
  private Path volume;

  @BeforeEach
  void mount() throws Exception {
    Needs.root("mounting a small file system");
    volume = Files.createTempDirectory(directory, "volume");
    Mounts.mount("tmpfs", volume, "tmpfs", List.of("size=1m"));
    Files.createDirectory(folder());
  }

  @AfterEach
  void unmount() throws Exception {
    if (volume != null) {
      Mounts.unmount(volume);
    }
  }

  private Path folder() {
    return volume.resolve("audit");
  }

  private Path ballast() {
    return volume.resolve("ballast");
  }

  /** Takes the remaining space, except for some pages. */
  private void fill(int left) throws IOException {
    long free = Files.getFileStore(volume).getUsableSpace();
    try (var out =
        Channels.newOutputStream(
            Files.newByteChannel(
                ballast(), StandardOpenOption.CREATE, StandardOpenOption.APPEND))) {
      out.write(new byte[Math.toIntExact(free - (long) left * PAGE)]);
    }
  }

  private static void write(AuditLog log, String text) throws InterruptedException {
    log.await(log.begin("c", "user \"o\"", "polis.Test/Change", text));
  }

  private List<String> texts() throws IOException {
    List<String> texts = new ArrayList<>();
    for (Path file : new AuditFolder(folder()).files()) {
      AuditScan.of(
          file,
          record -> {
            if (record.kind() == AuditKind.BEGIN) {
              texts.add(record.text());
            }
          });
    }
    return texts;
  }

  private List<AuditFault> faults() throws Exception {
    return new AuditFolder(folder()).verify(Long.MAX_VALUE, Optional.empty()).faults();
  }

  /**
   * Writes until the disk has refused a record; returns the written records, with the refused one
   * as the last.
   */
  private static List<String> untilRefused(AuditLog log, Watcher<AuditStatus> status)
      throws Exception {
    List<String> written = new ArrayList<>();
    long before;
    do {
      before = log.confirmed();
      String text = "change " + written.size() + " " + "x".repeat(written.size() % 700);
      write(log, text);
      written.add(text);
    } while (log.confirmed() > before);
    AuditStatus.Failing failing =
        (AuditStatus.Failing) status.get(AuditStatus.Failing.class::isInstance, PATIENCE);
    assertTrue(failing.reason().contains("No space left on device"), failing.reason());
    return written;
  }

  /** Makes space, and waits until all records are written. */
  private void makeRoom(List<String> expected) throws Exception {
    Files.delete(ballast());
    Await.until(
        PATIENCE, "the held records to be written", () -> texts().size() >= expected.size());
    assertEquals(expected, texts());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "on a full disk records are held, and then changes refused; with space again no record is lost or torn")
  void fullDiskLosesNothing() throws Exception {
    List<String> expected = new ArrayList<>();
    try (AuditLog log = new AuditLog(AuditSettings.DEFAULT, logs.log("audit-test"));
        Watcher<AuditStatus> status = log.status().watch()) {
      log.open(folder());
      write(log, "before");
      expected.add("before");
      fill(3);
      expected.addAll(untilRefused(log, status));
      AuditFullException refusal = holdUntilRefused(log, expected);
      assertTrue(refusal.getMessage().contains("nothing was changed"), refusal.getMessage());
      assertTrue(refusal.getMessage().contains("No space left on device"), refusal.getMessage());
      assertTrue(refusal.getMessage().contains(folder().toString()), refusal.getMessage());
      makeRoom(expected);
      write(log, "after");
      expected.add("after");
      assertEquals(expected, texts());
    }
    assertEquals(List.of(), faults());
  }

  private static AuditFullException holdUntilRefused(AuditLog log, List<String> expected) {
    return assertThrows(
        AuditFullException.class,
        () -> {
          while (true) {
            String text = "held " + expected.size();
            write(log, text);
            expected.add(text);
          }
        });
  }

  @Test
  @DisplayName(
      "a disk that is full at the begin of a new file keeps the chain, and later the file is begun")
  void fullDiskAtTheBeginningOfAFile() throws Exception {
    List<String> expected = new ArrayList<>();
    try (AuditLog log = new AuditLog(new AuditSettings(PAGE, 64), logs.log("audit-test"));
        Watcher<AuditStatus> status = log.status().watch()) {
      log.open(folder());
      write(log, "first");
      expected.add("first");
      // Each file takes two pages at most, so the disk is full at the beginning of another one
      // or on its second page, whichever comes first.
      for (int room = 0; room < 3; room++) {
        fill(room);
        expected.addAll(untilRefused(log, status));
        makeRoom(expected);
      }
    }
    assertEquals(List.of(), faults());
  }

  @Test
  @DisplayName(
      "records that a process leaves on a full disk are whole, or cut off by the next process")
  void nextProcessAfterAFullDisk() throws Exception {
    List<String> confirmed = new ArrayList<>();
    try (AuditLog log = new AuditLog(AuditSettings.DEFAULT, logs.log("audit-test"));
        Watcher<AuditStatus> status = log.status().watch()) {
      log.open(folder());
      write(log, "first");
      confirmed.add("first");
      fill(2);
      confirmed.addAll(untilRefused(log, status));
      // The last record was held for a disk that never accepted it.
      confirmed.removeLast();
    }
    assertFalse(confirmed.isEmpty());
    Files.delete(ballast());
    try (AuditLog log = new AuditLog(AuditSettings.DEFAULT, logs.log("audit-test"))) {
      log.open(folder());
      write(log, "after");
    }
    confirmed.add("after");
    assertEquals(confirmed, texts());
    assertEquals(List.of(), faults());
  }
}
