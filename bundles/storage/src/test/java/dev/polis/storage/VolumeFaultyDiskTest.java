package dev.polis.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.fixtures.power.FaultyDisk;
import dev.polis.logtree.Secret;
import java.nio.file.Files;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Lets the disk under a data volume fail, slow down and stand still: each failure names its place,
 * no acknowledged write is lost, and no call waits longer than the disk.
 */
@Tag("full")
class VolumeFaultyDiskTest {

  /** Room for an image of a volume and the file system around it. */
  private static final long BYTES = 512L << 20;

  private static final String IO_ERROR = "Input/output error";

  /** The time in which a call must end on a disk that fails; programs of a volume take seconds. */
  private static final Duration ENDS = Duration.ofMinutes(1);

  private static final Duration STALL = Duration.ofSeconds(2);
  private static final int WRITES = 5;

  /** The speed of the slow disk, in bytes a second. */
  private static final long SLOW = 256 << 10;

  /** The size of a file that a slow disk takes two seconds for. */
  private static final int LARGE = 512 << 10;

  private final UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
  private final ExecutorService threads = new TestThreads();
  private FaultyDisk disk;
  private VolumeBench bench;

  private void make(StorageSecurity security) throws Exception {
    VolumeBench.assumePossible(security);
    disk = FaultyDisk.mount(BYTES, 0);
    open(security);
    bench.manager.mountNew(security, keys);
  }

  private void open(StorageSecurity security) throws FileException {
    bench = new VolumeBench(disk.point().resolve("state"), security);
  }

  private void mountAgain(StorageSecurity security) throws Exception {
    bench.manager.mountExisting(
        new SealedConfiguration(keys.node(), Secret.of("join key"), Certificates.ca(), security),
        keys.cluster());
    assertInstanceOf(DataStatus.Mounted.class, bench.manager.status().peek().orElseThrow());
  }

  @AfterEach
  void end() throws Exception {
    if (disk != null) {
      disk.heal();
      close();
      disk.close();
    }
    threads.close();
  }

  private void close() throws Exception {
    if (bench != null) {
      within(
          () -> {
            bench.volume.close();
            return null;
          });
      bench.close();
      bench = null;
    }
  }

  /** Returns the result of a call that must end. */
  private <T> T within(Callable<T> call) throws Exception {
    try {
      return threads.submit(call).get(ENDS.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw failed;
    }
  }

  private FilePlacement file() {
    return bench.root.data().node().roles();
  }

  private Void write(String value) throws FileException {
    file().write(value.getBytes(UTF_8));
    return null;
  }

  private String read() throws FileException {
    return new String(file().read().orThrow(), UTF_8);
  }

  /** Starts with the bytes that reached the disk, and with nothing of it in memory. */
  private void recover(StorageSecurity security) throws Exception {
    close();
    disk.recover();
    open(security);
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName(
      "a write to a volume whose disk fails is refused with its place and what to check, and each write before is there once the disk recovers")
  void writesFail(StorageSecurity security) throws Exception {
    make(security);
    for (int n = 1; n <= WRITES; n++) {
      write("value " + n);
    }
    disk.failWrites();
    for (int n = 1; n <= WRITES; n++) {
      FileException refused =
          assertThrows(FileException.class, () -> within(() -> write("refused")));
      String said = refused.getMessage();
      assertTrue(said.startsWith("cannot write " + file().path() + ": "), said);
      assertTrue(said.endsWith("; nothing was changed"), said);
      if (refused.problem() == Problem.IO) {
        assertTrue(said.contains(IO_ERROR), said);
        assertTrue(said.contains("check the disk and the kernel log"), said);
      } else {
        assertEquals(Problem.READ_ONLY, refused.problem(), said);
        assertTrue(said.contains("which dmesg shows"), said);
      }
    }
    recover(security);
    mountAgain(security);
    assertEquals("value " + WRITES, read());
    write("afterwards");
    assertEquals("afterwards", read());
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName(
      "a volume whose disk does not read is refused with its place, a file of a mounted one too, and both are there once the disk recovers")
  void readsFail(StorageSecurity security) throws Exception {
    make(security);
    write("value");
    recover(security);
    // The kernel then remembers the folders, so that the first read of the disk is the volume's.
    assertFalse(bench.root.esp().volumeFormat().exists());
    Files.createDirectories(bench.root.ephemeral().storage().create().resolve("probe"));
    disk.failReads();
    FileException refused =
        assertThrows(
            FileException.class,
            () ->
                within(
                    () -> {
                      mountAgain(security);
                      return null;
                    }));
    assertTrue(refused.getMessage().contains(disk.point().toString()), refused.getMessage());
    assertTrue(refused.getMessage().matches("(?is).*" + IO_ERROR + ".*"), refused.getMessage());
    assertEquals(Problem.IO, refused.problem(), refused.getMessage());

    disk.heal();
    recover(security);
    mountAgain(security);
    disk.failReads();
    Stored.Unreadable<?> unreadable =
        assertInstanceOf(Stored.Unreadable.class, within(() -> file().read()));
    String said = unreadable.cause().getMessage();
    assertTrue(said.contains(file().path().toString()) && said.contains(IO_ERROR), said);

    disk.heal();
    assertEquals("value", read());
  }

  @ParameterizedTest
  @EnumSource
  @DisplayName(
      "a write to a volume on a slow disk takes its time; on one that stands still it is not acknowledged before the disk continues, and the state of the volume is known meanwhile")
  void diskIsSlow(StorageSecurity security) throws Exception {
    make(security);
    disk.slow(SLOW);
    long began = System.nanoTime();
    within(() -> write("v".repeat(LARGE)));
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    assertTrue(
        took.compareTo(Duration.ofSeconds(1)) > 0,
        "a disk with %d KiB a second took %d KiB within %d ms"
            .formatted(SLOW >> 10, LARGE >> 10, took.toMillis()));
    disk.slow(0);

    disk.pause();
    Future<Void> write = threads.submit(() -> write("during the stall"));
    try {
      long since = System.nanoTime();
      Await.until("the stall to last", () -> System.nanoTime() - since > STALL.toNanos());
      assertFalse(write.isDone(), "a disk that stands still has acknowledged a write");
      within(
          () -> {
            bench.manager.check();
            return null;
          });
      assertInstanceOf(DataStatus.Mounted.class, bench.manager.status().peek().orElseThrow());
    } finally {
      disk.resume();
    }
    write.get(ENDS.toSeconds(), TimeUnit.SECONDS);
    recover(security);
    mountAgain(security);
    assertEquals("during the stall", read());
  }
}
