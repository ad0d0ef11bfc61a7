package dev.polis.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileTreeTest {

  @TempDir Path directory;
  private Path top;
  private Path outside;

  @BeforeEach
  void grow() throws IOException {
    top = Files.createDirectories(directory.resolve("top"));
    outside = Files.createDirectories(directory.resolve("outside"));
    Files.writeString(outside.resolve("kept"), "content");
    Files.createDirectories(top.resolve("a/b/c"));
    Files.writeString(top.resolve("a/b/file"), "content");
    Files.createSymbolicLink(top.resolve("a/link"), outside);
    Files.createSymbolicLink(top.resolve("a/dangling"), directory.resolve("nothing"));
  }

  @Test
  @DisplayName("a tree is deleted with all it holds; links are deleted, what they name is kept")
  void delete() throws IOException {
    FileTree.delete(top);
    assertFalse(Files.exists(top));
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName("a link to a directory is deleted itself")
  void link() throws IOException {
    Path link = Files.createSymbolicLink(directory.resolve("link"), outside);
    FileTree.delete(link);
    assertFalse(Files.exists(link, LinkOption.NOFOLLOW_LINKS));
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName("what is not there is deleted already")
  void missing() throws IOException {
    FileTree.delete(directory.resolve("nothing"));
    FileTree.empty(directory.resolve("nothing"));
  }

  @Test
  @DisplayName("an emptied directory stays, and nothing is in it")
  void empty() throws IOException {
    FileTree.empty(top);
    try (Stream<Path> left = Files.list(top)) {
      assertEquals(List.of(), left.toList());
    }
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName("a failure is thrown, not passed over")
  void readOnly() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(directory.resolve("disk"))) {
      disk.leave(SmallDisk.PAGE);
      Path there = Files.createDirectories(disk.point().resolve("a/b"));
      disk.readOnly();
      assertThrows(IOException.class, () -> FileTree.delete(disk.point().resolve("a")));
      assertTrue(Files.exists(there));
    }
  }
}
