package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.process.Commands;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the counted space of a layer with the real use on the tests' file system. */
class LayerDiskTest {

  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final int BLOCK = 4096;

  /** A header, an inode, and what the last block of a file in the tar leaves empty. */
  private static final int EACH = 3 * 512;

  private static final String FORMATS = "with the format {0} of tar";

  @TempDir private Path folder;
  private Path root;

  @BeforeEach
  void makeRoot() throws IOException {
    root = Files.createDirectory(folder.resolve("root"));
  }

  private static String run(String... command) throws Exception {
    Commands.Result said = new Commands().run(PATIENCE, List.of(command));
    assertTrue(said.ok(), said::words);
    return said.output();
  }

  /** Packs names below the root, in this order; packs directories with their content. */
  private Path packed(String format, String... names) throws Exception {
    Path layer = folder.resolve("layer.tar");
    List<String> command =
        new ArrayList<>(
            List.of(
                "tar",
                "--format=" + format,
                "--sort=name",
                "-C",
                root.toString(),
                "-cf",
                layer.toString()));
    command.addAll(List.of(names));
    run(command.toArray(String[]::new));
    return layer;
  }

  private static DiskSpace counted(Path layer) throws IOException {
    try (InputStream in = Files.newInputStream(layer)) {
      return counted(in.readAllBytes());
    }
  }

  private static DiskSpace counted(byte[] tar) {
    LayerDisk disk = new LayerDisk("layer");
    DiskSpace counted = new DiskSpace(0, 0);
    for (int at = 0; at < tar.length; at += 512) {
      byte[] block = Arrays.copyOfRange(tar, at, at + 512);
      counted = counted.plus(disk.next(block, Math.min(512, tar.length - at)));
    }
    return counted;
  }

  /** Unpacks a layer and returns the space of the folder in the file system. */
  private DiskSpace taken(Path layer) throws Exception {
    Path target = Files.createTempDirectory(folder, "unpacked");
    long own = number("--block-size=1", target);
    run("tar", "-xf", layer.toString(), "-C", target.toString());
    return new DiskSpace(number("--block-size=1", target) - own, number("--inodes", target) - 1);
  }

  private static long number(String unit, Path folder) throws Exception {
    return Long.parseLong(run("du", "-s", unit, folder.toString()).split("\\s", 2)[0]);
  }

  /**
   * Compares from below and from above.
   *
   * @param directories which some file systems have in an inode
   */
  private void assertCounted(Path layer, int directories, int entries) throws Exception {
    DiskSpace taken = taken(layer);
    DiskSpace counted = counted(layer);
    assertTrue(counted.bytes() >= taken.bytes(), () -> counted + " is less than " + taken);
    long most =
        taken.bytes() + (long) directories * BLOCK + (long) entries * EACH + Files.size(layer) / 20;
    assertTrue(counted.bytes() <= most, () -> counted + " is far more than " + taken);
    assertEquals(taken.inodes(), counted.inodes(), "inodes");
  }

  @ParameterizedTest(name = FORMATS)
  @ValueSource(strings = {"gnu", "posix", "ustar"})
  @DisplayName("files of all sizes count the blocks and inodes that the file system takes for them")
  void files(String format) throws Exception {
    int entries = 0;
    for (int size : new int[] {0, 1, 511, 512, 513, 4095, 4096, 4097, 70_000}) {
      for (int copy = 0; copy < 9; copy++) {
        Path directory = Files.createDirectories(root.resolve("usr/share/d" + copy));
        Files.write(directory.resolve("f" + size), new byte[size]);
        entries++;
      }
    }
    assertCounted(packed(format, "."), 11, entries + 11 * 6);
  }

  @ParameterizedTest(name = FORMATS)
  @ValueSource(strings = {"gnu", "posix"})
  @DisplayName("empty directories count, in the layer or only in the paths of its files")
  void directories(String format) throws Exception {
    for (int each = 0; each < 80; each++) {
      Files.createDirectories(root.resolve("lone/d%03d/below".formatted(each)));
    }
    assertCounted(packed(format, "."), 162, 162 * 4);

    String deep = String.join("/", Collections.nCopies(300, "d")) + "/file";
    String shallow = "e/".repeat(40) + "file";
    for (String file : List.of(deep, shallow)) {
      Files.createDirectories(root.resolve(file).getParent());
      Files.writeString(root.resolve(file), "x");
    }
    assertCounted(packed(format, deep, shallow), 340, 340 * 4);
  }

  @ParameterizedTest(name = FORMATS)
  @ValueSource(strings = {"gnu", "posix", "ustar"})
  @DisplayName("links, empty files and long names count what the file system takes for them")
  void links(String format) throws Exception {
    Path first = Files.write(root.resolve("first"), new byte[BLOCK]);
    for (int each = 0; each < 60; each++) {
      Files.createLink(root.resolve("hard" + each), first);
      Files.createSymbolicLink(root.resolve("soft" + each), Path.of("first"));
      Files.createSymbolicLink(root.resolve("far" + each), Path.of("../x".repeat(20)));
      Files.createFile(root.resolve("%090d".formatted(each)));
      Files.createFile(root.resolve(".wh.gone" + each));
    }
    // Some file systems have the target of any link in its inode.
    assertCounted(packed(format, "."), 60, 301 * 3);
  }

  @Test
  @Tag("attack")
  @DisplayName("a path, an attribute or a link that stands before its entry counts what it takes")
  void extendedHeaders() throws Exception {
    DiskSpace plain = counted(layer('x', "13 mtime=1.5\n"));
    assertEquals(BLOCK, counted(layer('x', "29 SCHILY.xattr.user.a=abcde\n")).minus(plain).bytes());
    assertEquals(BLOCK, counted(layer('x', "20 linkpath=a/b/c/d\n")).minus(plain).bytes());
    assertEquals(BLOCK, counted(layer('x', "12 size=513\n")).minus(plain).bytes());
    DiskSpace path = counted(layer('x', "16 path=a/b/c/d\n")).minus(plain);
    assertEquals(3, path.inodes());
    assertTrue(path.bytes() >= 3 * BLOCK, path::toString);
    assertEquals(path, counted(layer('L', "a/b/c/d")).minus(counted(layer('L', "d"))));
    ByteArrayOutputStream directory = new ByteArrayOutputStream();
    try (TarWriter tar = new TarWriter(directory)) {
      tar.file("extended", 0644, "d/e".getBytes(StandardCharsets.UTF_8));
      tar.directory("d", 0755);
    }
    assertEquals(
        2, counted(PauseImageTest.retyped(directory.toByteArray(), 0, 'L')).inodes(), "d and d/e");
    assertEquals(BLOCK, counted(layer('K', "abc")).minus(counted(layer('g', "abc"))).bytes());
  }

  /** Returns a tar of one file behind a header of another type. */
  private static byte[] layer(char type, String content) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (TarWriter tar = new TarWriter(bytes)) {
      tar.file("extended", 0644, content.getBytes(StandardCharsets.UTF_8));
      tar.file("file", 0644, new byte[1]);
    }
    return PauseImageTest.retyped(bytes.toByteArray(), 0, type);
  }
}
