package dev.polis.rpc.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Fills the disk of an audit log repeatedly, and rereads the confirmed records. */
class AuditDiskFullTest {

  /** So small that a file holds a few records, and the disk fills within a file and between two. */
  private static final AuditSettings SMALL = new AuditSettings(16 << 10, 100);

  private static final int TIMES = 5;

  /** Differing sizes, so that the disk fills in the middle of different records. */
  private static final int ROOM = 7 * 4096;

  private static final int MOST_WRITES = 200;

  @TempDir Path directory;

  @Test
  @DisplayName("after the disk was full the audit log has each confirmed record, and no other")
  void confirmedRecordsAreReread() throws Exception {
    Needs.root("filling a disk");
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("disk"))) {
      AuditFolder folder = new AuditFolder(disk.point());
      List<String> confirmed = new ArrayList<>();
      long sequence = Long.MAX_VALUE;
      for (int time = 0; time < TIMES; time++) {
        disk.leave((long) (time + 1) * ROOM);
        try (AuditWriter writer = AuditWriter.open(folder, SMALL, sequence)) {
          sequence = append(writer, confirmed);
        }
      }
      disk.leave(1 << 20);
      try (AuditWriter writer = AuditWriter.open(folder, SMALL, sequence)) {
        String text = "with room";
        writer.append(List.of(draft(text)));
        confirmed.add(text);
      }
      assertEquals(confirmed, records(folder));
    }
  }

  /** Appends until the disk is full, and returns the number of the last confirmed record. */
  private static long append(AuditWriter writer, List<String> confirmed) throws IOException {
    String first = "change " + confirmed.size();
    long last = writer.append(List.of(draft(first))).sequence();
    confirmed.add(first);
    IOException full = null;
    for (int made = 0; made < MOST_WRITES && full == null; made++) {
      String text = "change " + confirmed.size() + " " + "x".repeat(700);
      try {
        last = writer.append(List.of(draft(text))).sequence();
        confirmed.add(text);
      } catch (IOException noRoom) {
        full = noRoom;
      }
    }
    assertTrue(full != null && full.getMessage().contains("No space left"), "said: " + full);
    return last;
  }

  private static AuditRecord.Draft draft(String text) {
    return new AuditRecord.Draft(Instant.EPOCH, AuditKind.BEGIN, "c", "p", "m", text);
  }

  private static List<String> records(AuditFolder folder) throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : folder.files()) {
      AuditScan scan =
          AuditScan.of(
              file,
              record -> {
                if (record.kind() == AuditKind.BEGIN) {
                  found.add(record.text());
                }
              });
      assertEquals(List.of(), scan.faults(), file.toString());
    }
    return found;
  }
}
