package dev.polis.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class FileTreeTest {

  /** Names of 200 characters, so many that a path would have ten times the system's limit. */
  private static final int DEEP = 200;

  private static final int ATTEMPTS = 3000;

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
  @DisplayName("a tree is deleted with its content; links are deleted, and their targets are kept")
  void delete() throws IOException {
    FileTree.delete(top);
    assertFalse(Files.exists(top));
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName(
      "an erased tree is gone, its files had only zeros before, and the targets of its links are kept")
  void erase() throws IOException {
    byte[] large = "secret".repeat(20_000).getBytes(StandardCharsets.US_ASCII);
    Files.write(top.resolve("a/b/c/large"), large);
    Path seen = Files.createLink(directory.resolve("seen"), top.resolve("a/b/c/large"));
    FileTree.erase(top);
    assertFalse(Files.exists(top));
    assertArrayEquals(new byte[large.length], Files.readAllBytes(seen));
    assertEquals("content", Files.readString(outside.resolve("kept")));
    FileTree.erase(top);
  }

  @Test
  @Timeout(60)
  @DisplayName("a tree that is too deep for any path is deleted, with few open files")
  void deep() throws IOException {
    // Built from the inside: each directory is moved into the next one.
    Path inner = Files.createDirectory(directory.resolve("0"));
    for (int depth = 1; depth <= DEEP; depth++) {
      Path outer = Files.createDirectory(directory.resolve(Integer.toString(depth)));
      Files.move(inner, outer.resolve("x".repeat(200)));
      inner = outer;
    }
    Files.move(inner, top.resolve("deep"));
    FileTree.delete(top);
    assertFalse(Files.exists(top));
  }

  @Test
  @Timeout(60)
  @Tag("attack")
  @DisplayName("a directory that becomes a link during the deletion causes no deletion elsewhere")
  void swapped() throws Exception {
    Path way = top.resolve("way");
    Path aside = directory.resolve("aside");
    AtomicBoolean done = new AtomicBoolean();
    Thread attacker =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!done.get()) {
                    try {
                      Files.createDirectories(way);
                      Files.move(way, aside);
                      Files.createSymbolicLink(way, outside);
                      Files.delete(way);
                      FileTree.delete(aside);
                    } catch (IOException lost) {
                      // The deletion was faster than the exchange.
                    }
                  }
                });
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        FileTree.delete(top);
        Files.createDirectories(top);
      } catch (IOException refused) {
        // It became a link just now; the next attempt deletes it.
      }
      assertTrue(Files.exists(outside.resolve("kept")));
    }
    done.set(true);
    Await.end(attacker);
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName("of a link to a directory only the link is deleted")
  void link() throws IOException {
    Path link = Files.createSymbolicLink(directory.resolve("link"), outside);
    FileTree.delete(link);
    assertFalse(Files.exists(link, LinkOption.NOFOLLOW_LINKS));
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName("a missing path counts as deleted")
  void missing() throws IOException {
    FileTree.delete(directory.resolve("nothing"));
    FileTree.empty(directory.resolve("nothing"));
  }

  @Test
  @DisplayName("an emptied directory stays, without content")
  void empty() throws IOException {
    FileTree.empty(top);
    try (Stream<Path> left = Files.list(top)) {
      assertEquals(List.of(), left.toList());
    }
    assertTrue(Files.exists(outside.resolve("kept")));
  }

  @Test
  @DisplayName("a failure is thrown, not ignored")
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
