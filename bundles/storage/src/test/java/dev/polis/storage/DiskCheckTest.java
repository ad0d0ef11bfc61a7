package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DiskCheckTest {
  private static final long SECOND = 1_000_000_000;

  @TempDir private Path folder;
  private final AtomicLong now = new AtomicLong();
  private final AtomicLong written = new AtomicLong();
  private Path data;

  @BeforeEach
  void makeData() throws IOException {
    data = Files.createDirectory(folder.resolve("data"));
  }

  private DiskCheck check(DiskCheck.Writer writer) {
    return new DiskCheck(
        Root.at(folder),
        place -> {
          try {
            writer.write(place);
          } finally {
            written.incrementAndGet();
          }
        },
        now::get);
  }

  private void awaitWrites(long count) throws Exception {
    Await.until("the end of " + count + " writes", () -> written.get() >= count);
  }

  private HealthCondition awaitFound(DiskCheck check) throws Exception {
    AtomicReference<Optional<HealthCondition>> found = new AtomicReference<>(Optional.empty());
    Await.until(
        "a condition",
        () -> {
          found.compareAndSet(Optional.empty(), check.look());
          return found.get().isPresent();
        });
    return found.get().orElseThrow();
  }

  @Test
  @DisplayName("a write that has not ended after 10 s is reported, and no second one is begun")
  void silent() throws Exception {
    CountDownLatch answered = new CountDownLatch(1);
    AtomicLong begun = new AtomicLong();
    DiskCheck check =
        check(
            _ -> {
              begun.incrementAndGet();
              try {
                answered.await();
              } catch (InterruptedException e) {
                throw new IOException(e);
              }
            });
    assertEquals(Optional.empty(), check.look());
    now.addAndGet(10 * SECOND);
    assertEquals(Optional.empty(), check.look());
    now.addAndGet(1);

    HealthCondition silent = check.look().orElseThrow();

    assertEquals(HealthLevel.DOWN, silent.level());
    assertTrue(silent.reason().startsWith("a write to " + data + " has not ended"), silent::reason);
    assertTrue(silent.remedy().contains("fsfreeze --unfreeze"), silent::remedy);
    answered.countDown();
    awaitWrites(1);
    assertEquals(1, begun.get());
    Await.until("the end of the report", () -> check.look().isEmpty());
  }

  @ParameterizedTest
  @CsvSource({
    "Read-only file system, remount",
    "Input/output error, replace it",
  })
  @DisplayName("a refused write is reported with its reason, until a later one succeeds")
  void refused(String reason, String remedy) throws Exception {
    AtomicReference<String> refusal = new AtomicReference<>(reason);
    DiskCheck check =
        check(
            place -> {
              if (refusal.get() != null) {
                throw new FileSystemException(place.toString(), null, refusal.get());
              }
            });

    HealthCondition found = awaitFound(check);

    assertEquals("the disk of %s refuses writes: %s".formatted(data, reason), found.reason());
    assertTrue(found.remedy().contains(remedy), found::remedy);
    refusal.set(null);
    Await.until("the end of the report", () -> check.look().isEmpty());
  }

  @Test
  @DisplayName("a full disk and a folder that is gone are left to other checks")
  void others() throws Exception {
    AtomicReference<IOException> refusal =
        new AtomicReference<>(
            new FileSystemException(data.toString(), null, "No space left on device"));
    DiskCheck check =
        check(
            _ -> {
              throw refusal.get();
            });
    assertEquals(Optional.empty(), check.look());
    awaitWrites(1);
    refusal.set(new NoSuchFileException(data.toString()));
    Await.until("another write", () -> check.look().isEmpty() && written.get() >= 2);
    assertEquals(Optional.empty(), check.look());
  }

  @Test
  @DisplayName("the node's disks take the write")
  void written() throws Exception {
    DiskCheck check = DiskCheck.of(Root.at(folder));
    assertEquals(Optional.empty(), check.look());
    Await.until("the file", () -> Files.exists(data.resolve(".disk-check")));
    assertEquals(Optional.empty(), check.look());
  }
}
