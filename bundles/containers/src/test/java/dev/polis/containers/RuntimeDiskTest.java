package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.ContainersException;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Makes the image file of the runtime, and interrupts the making. */
class RuntimeDiskTest {

  private static final long MEBI = 1L << 20;

  /** The smallest size that a setting allows. */
  private static final int SIZE_MEBIBYTES = 64;

  @TempDir Path directory;
  private ContainersFiles files;
  private Path image;
  private Path making;

  @BeforeEach
  void create() throws Exception {
    files = new ContainersFiles(Root.at(directory));
    files.create();
    image = files.image().path();
    making = image.resolveSibling(image.getFileName() + ".new");
  }

  private RuntimeDisk disk(int mebibytes) {
    return new RuntimeDisk(
        new ContainersSettings("", new TreeMap<>(), "auto", mebibytes, 64, Duration.ofSeconds(30)),
        files);
  }

  private void assertWhole() throws Exception {
    assertEquals(SIZE_MEBIBYTES * MEBI, Files.size(image));
    Commands.Result said =
        new Commands().run(Duration.ofMinutes(1), List.of("e2fsck", "-n", "-f", image.toString()));
    assertTrue(said.ok(), said.words());
    assertFalse(Files.exists(making), "the folder for its making is left over");
  }

  @Test
  @DisplayName("an image that an earlier start left unfinished in mkfs is not used but made anew")
  void cutOffInMkfs() throws Exception {
    // This file is larger than the image, and holds no file system.
    Files.write(making, new byte[(int) ((SIZE_MEBIBYTES + 1) * MEBI)]);
    disk(SIZE_MEBIBYTES).prepare(false);
    assertWhole();
  }

  @Test
  @DisplayName("an image whose making is interrupted does not exist, and the next start makes it")
  void cutOffWhileItIsMade() throws Exception {
    Thread start =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    // The tables of so large an image take mkfs some seconds.
                    disk(500 * 1024).prepare(false);
                  } catch (IOException | InterruptedException cutOff) {
                    Thread.currentThread().interrupt();
                  }
                });
    Await.until("the making to begin", () -> Files.exists(making));
    start.interrupt();
    Await.end(start);
    assertFalse(Files.exists(image), "a half-made image would be taken for a whole one");
    disk(SIZE_MEBIBYTES).prepare(false);
    assertWhole();
  }

  @Test
  @DisplayName(
      "an image of a given size is made on any volume; without a size, one is made only if needed")
  void limit() throws Exception {
    disk(0).prepare(true);
    assertFalse(Files.exists(image));
    disk(SIZE_MEBIBYTES).prepare(true);
    assertWhole();
  }

  @Test
  @DisplayName("an image is not mounted over existing containers")
  void hidesNothing() throws Exception {
    Files.createDirectory(files.runtime().path().resolve("io.containerd.content.v1.content"));
    ContainersException refused =
        assertThrows(ContainersException.class, () -> disk(SIZE_MEBIBYTES).prepare(true));
    assertTrue(refused.getMessage().contains("image.mebibytes"), refused.getMessage());
    assertFalse(Files.exists(image));
  }

  @Test
  @DisplayName("an existing image stays unchanged")
  void staysAsItIs() throws Exception {
    Files.writeString(image, "the image of an earlier start");
    disk(SIZE_MEBIBYTES).prepare(false);
    assertEquals("the image of an earlier start", Files.readString(image));
    assertTrue(disk(SIZE_MEBIBYTES).imageFile());
  }
}
