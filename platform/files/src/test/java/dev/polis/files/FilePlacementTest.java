package dev.polis.files;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import dev.polis.fixtures.TestThreads;
import dev.polis.wire.common.ClusterConfiguration;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class FilePlacementTest {

  @TempDir Path directory;
  private FilePlacement file;

  @BeforeEach
  void place() {
    file = Root.at(directory).data().node().credentials().key();
  }

  @Test
  void whatWasWrittenIsReadWithTheDeclaredMode() throws Exception {
    file.write("one".getBytes(UTF_8));
    assertArrayEquals("one".getBytes(UTF_8), file.read().orThrow());
    assertEquals(Mode.SECRET.permissions(), Files.getPosixFilePermissions(file.path()));
    assertEquals(List.of("cert-key.pem"), list(), "nothing else is left in the directory");
  }

  @Test
  @DisplayName("D-26 a shorter content leaves no tail of the longer one")
  void d26_noTail() throws Exception {
    file.write("a long content".getBytes(UTF_8));
    file.write("short".getBytes(UTF_8));
    assertArrayEquals("short".getBytes(UTF_8), file.read().orThrow());
  }

  @Test
  @DisplayName("D-26 a temporary file of a killed writer does not disturb, and is swept")
  void d26_temporaryFilesAreSwept() throws Exception {
    file.write("content".getBytes(UTF_8));
    Path left = file.path().resolveSibling(".cert-key.pem.0123456789abcdef.tmp");
    Path foreign = file.path().resolveSibling(".cert-key.pem.swp");
    Files.writeString(left, "half");
    Files.writeString(foreign, "of an editor");
    assertEquals(1, Root.at(directory).data().node().credentials().removeTemporaryFiles());
    assertEquals(List.of(".cert-key.pem.swp", "cert-key.pem"), list());
  }

  @Test
  void absentIsNotUnreadable() throws Exception {
    assertInstanceOf(Stored.None.class, file.read());
    FileException absent = assertThrows(FileException.class, () -> file.read().orThrow());
    assertTrue(absent.remedy().startsWith("bring it back"), absent.remedy());
    assertEquals(Problem.ABSENT, absent.problem());
    Files.createDirectories(file.path()); // a directory in place of the file cannot be read
    assertInstanceOf(Stored.Unreadable.class, file.read());
  }

  @Test
  void anEmptyOrForeignFileIsNoMessage() throws Exception {
    file.write(new byte[0]);
    assertInstanceOf(Stored.Corrupted.class, file.read(ClusterConfiguration.parser()));
    file.write(new byte[] {(byte) 0xff, (byte) 0xff});
    assertInstanceOf(Stored.Corrupted.class, file.read(ClusterConfiguration.parser()));
  }

  @Test
  void erasedIsGone() throws Exception {
    file.write("secret".getBytes(UTF_8));
    file.erase();
    assertFalse(file.exists());
    file.erase();
    file.delete();
  }

  @Test
  @Tag("attack")
  @DisplayName("the former content of a replaced secret is overwritten before its blocks are free")
  void replacedIsErased() throws Exception {
    file.replaceErasing("first".getBytes(UTF_8));
    // An open file stays readable without a name, as its blocks do.
    try (InputStream former = Files.newInputStream(file.path())) {
      file.replaceErasing("second".getBytes(UTF_8));
      assertArrayEquals(new byte["first".length()], former.readAllBytes());
    }
    assertArrayEquals("second".getBytes(UTF_8), file.read().orThrow());
    assertEquals(List.of("cert-key.pem"), list());
  }

  @Test
  void ofManyWritersEachReaderSeesOneWholeContent() throws Exception {
    byte[] a = "a".repeat(5000).getBytes(UTF_8);
    byte[] b = "b".repeat(9000).getBytes(UTF_8);
    file.write(a);
    try (ExecutorService writers = new TestThreads()) {
      var done =
          List.of(a, b).stream()
              .map(
                  content ->
                      writers.submit(
                          () -> {
                            for (int i = 0; i < 100; i++) {
                              file.write(content);
                            }
                            return true;
                          }))
              .toList();
      while (!done.stream().allMatch(java.util.concurrent.Future::isDone)) {
        String seen = new String(file.read().orThrow(), UTF_8);
        assertTrue(
            seen.equals("a".repeat(5000)) || seen.equals("b".repeat(9000)),
            "saw a mixture of " + seen.length() + " bytes");
      }
      for (var writer : done) {
        assertTrue(writer.get());
      }
    }
    assertEquals(List.of("cert-key.pem"), list());
  }

  @Test
  @DisplayName("a full disk is named and leaves the former content")
  void fullDisk() throws Exception {
    requireRoot();
    try (SmallDisk small = SmallDisk.mounted(directory.resolve("small"))) {
      small.leave(64 << 10);
      FilePlacement there = Root.at(small.point()).esp().parameters();
      there.write("former".getBytes(UTF_8));
      FileException full = assertThrows(FileException.class, () -> there.write(new byte[1 << 20]));
      assertEquals(Problem.FULL, full.problem(), full.getMessage());
      assertTrue(full.getMessage().contains(there.path().toString()), full.getMessage());
      assertArrayEquals("former".getBytes(UTF_8), there.read().orThrow());
      assertEquals(List.of("parameters.pb"), Root.at(small.point()).esp().list());
    }
  }

  @Test
  @DisplayName("a disk that can hold no more files, but more bytes, is named as that")
  void noMoreFiles() throws Exception {
    requireRoot();
    try (SmallDisk small = SmallDisk.mounted(directory.resolve("small"))) {
      small.leave(1 << 20);
      FilePlacement there = Root.at(small.point()).esp().parameters();
      there.write("former".getBytes(UTF_8));
      small.leaveFiles(0);
      FileException full = assertThrows(FileException.class, () -> there.write(new byte[1]));
      assertEquals(Problem.FULL, full.problem(), full.getMessage());
      assertTrue(full.getMessage().contains("can hold no more files"), full.getMessage());
      assertTrue(full.remedy().startsWith("delete files there (df -i "), full.remedy());
    }
  }

  @Test
  @DisplayName("a read-only disk is named")
  void readOnlyDisk() throws Exception {
    requireRoot();
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("disk"))) {
      disk.leave(1 << 20);
      FilePlacement there = Root.at(disk.point()).esp().parameters();
      there.write("former".getBytes(UTF_8));
      disk.readOnly();
      for (var change :
          List.<org.junit.jupiter.api.function.Executable>of(
              () -> there.write(new byte[10]),
              there::delete,
              there::erase,
              () -> Root.at(disk.point()).data().create())) {
        FileException refusal = assertThrows(FileException.class, change);
        assertEquals(Problem.READ_ONLY, refusal.problem(), refusal.getMessage());
      }
      assertArrayEquals("former".getBytes(UTF_8), there.read().orThrow());
    }
  }

  private List<String> list() throws FileException {
    return Root.at(directory).data().node().credentials().list();
  }

  private static void requireRoot() {
    Needs.root("mounting a small disk");
  }

  @Test
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  @DisplayName("a pipe in the place of a file is named, and no thread waits for its writer")
  void pipe() throws Exception {
    Path pipe = directory.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    FileException told =
        assertThrows(
            FileException.class, () -> new FilePlacement(pipe, Mode.SECRET).read().orThrow());
    assertTrue(told.getMessage().contains("something else is there: " + pipe), told.getMessage());
    assertTrue(told.getMessage().contains("move what is there aside"), told.getMessage());
  }
}
