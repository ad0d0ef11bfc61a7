package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import dev.polis.fixtures.power.FaultyDisk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lets a disk under a real etcd fail, stall or fill, and rereads each acknowledged write. */
@Tag("full")
class EtcdDiskTest {

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  /** The size of the disk: etcd reserves 64 MB for its log, and as much for the next one. */
  private static final long BYTES = 512L << 20;

  /** The flushes that succeed: a start of etcd makes about 25, and each write one or two. */
  private static final int LEAST_FLUSHES = 60;

  private static final int MOST_FLUSHES = 150;

  /** More writes than a failing disk accepts. */
  private static final int MOST_WRITES = 1000;

  private static final Duration STALL = Duration.ofSeconds(2);
  private static final int STALLS = 4;

  /** The part of the disk's free space that a value takes. */
  private static final int VALUE = 64 << 10;

  private static final long ROOM = 8 << 20;

  @TempDir Path directory;

  private final List<String> acknowledged = new ArrayList<>();

  @Test
  @DisplayName(
      "etcd on a disk whose flushes fail loses no acknowledged write after the disk recovers")
  void flushesFail() throws Exception {
    int flushes = new Random(SEED).nextInt(LEAST_FLUSHES, MOST_FLUSHES);
    try (FaultyDisk disk = FaultyDisk.mount(BYTES, flushes)) {
      try (EtcdOnDisk etcd = EtcdOnDisk.start(disk.point(), List.of())) {
        writeUntilRefused(etcd, "value");
      }
      disk.recover();
      reread(disk.point());
    }
    System.out.printf(
        "%d writes before flush %d failed, -Dpolis.seed=%d%n", acknowledged.size(), flushes, SEED);
  }

  @Test
  @DisplayName("etcd on a disk that stalls for 2 s at a time continues and loses no write")
  void diskStalls() throws Exception {
    try (FaultyDisk disk = FaultyDisk.mount(BYTES, 0)) {
      try (EtcdOnDisk etcd = EtcdOnDisk.start(disk.point(), List.of())) {
        for (int stall = 0; stall < STALLS; stall++) {
          write(etcd, "value").requireSuccess("a write before a stall");
          disk.pause();
          long since = System.nanoTime();
          CompletableFuture<Finished> during =
              CompletableFuture.supplyAsync(
                  () -> {
                    try {
                      return write(etcd, "value");
                    } catch (Exception failed) {
                      throw new AssertionError("no write can be made", failed);
                    }
                  });
          Await.until("the stall to end", () -> System.nanoTime() - since > STALL.toNanos());
          assertTrue(!during.isDone(), "a write was acknowledged by a disk that stands still");
          disk.resume();
          during.get(1, TimeUnit.MINUTES).requireSuccess("the write during a stall");
          assertTrue(etcd.process().isAlive(), "etcd has ended");
        }
      }
      disk.recover();
      reread(disk.point());
    }
  }

  @Test
  @DisplayName("etcd on a disk that was full has each acknowledged write once there is space again")
  void diskIsFull() throws Exception {
    Needs.root("filling a disk");
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("disk"))) {
      disk.leave(BYTES);
      try (EtcdOnDisk etcd = EtcdOnDisk.start(disk.point(), List.of())) {
        write(etcd, "value").requireSuccess("a write while there is room");
        disk.leave(ROOM);
        writeUntilRefused(etcd, "v".repeat(VALUE));
      }
      disk.leave(BYTES);
      reread(disk.point());
    }
    System.out.printf("%d writes before the disk was full%n", acknowledged.size());
  }

  private void writeUntilRefused(EtcdOnDisk etcd, String value) throws Exception {
    for (int made = 0; made < MOST_WRITES; made++) {
      if (write(etcd, value).code() != 0) {
        assertTrue(!acknowledged.isEmpty(), "not one write was acknowledged");
        return;
      }
    }
    throw new AssertionError("the disk has let %d writes through".formatted(MOST_WRITES));
  }

  private Finished write(EtcdOnDisk etcd, String value) throws Exception {
    String key = "key-%04d".formatted(acknowledged.size());
    Finished said = etcd.tried("10s", "put", key, value);
    if (said.code() == 0) {
      acknowledged.add(key);
    }
    return said;
  }

  /**
   * Starts another etcd on the disk, which must have each acknowledged write and accept a new one.
   */
  private void reread(Path disk) throws Exception {
    try (EtcdOnDisk etcd = EtcdOnDisk.start(disk, List.of())) {
      etcd.ctl("put", "afterwards", "value");
      TreeSet<String> missing = new TreeSet<>(acknowledged);
      etcd.ctl("get", "key-", "--prefix", "--keys-only").out().lines().forEach(missing::remove);
      assertEquals(new TreeSet<>(), missing, "acknowledged and lost");
    }
  }
}
