package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.node.exit.Refusal;
import dev.polis.plugins.store.CheckedNotes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damages the class path of a distribution in every way. */
class LibraryDigestsTest {
  @TempDir Path folder;
  private Path notes;
  private Path netty;
  private LibraryDigests libraries;

  @BeforeEach
  void build() throws Exception {
    notes = folder.resolve("notes");
    netty = folder.resolve("lib/netty.jar");
    Files.createDirectories(netty.getParent());
    Files.writeString(netty, "netty");
    Files.writeString(folder.resolve("lib/guava.jar"), "guava");
    libraries = new LibraryDigests(folder);
    libraries.write();
    check();
  }

  @Test
  @DisplayName(
      "Jars that the build put into lib/ are accepted, and remembered until the next build")
  void whole() throws Exception {
    check();
    assertEquals(2, count(notes));

    Files.writeString(netty, "newer");
    libraries.write();
    check();

    assertEquals(2, count(notes), "the note of the former file was deleted");
  }

  @Test
  @Tag("attack")
  @DisplayName("A jar that was changed after it was compared is refused by name, at each start")
  void damaged() throws Exception {
    Files.writeString(netty, "nettz");
    refused(netty + " is damaged: its digest is not the listed one; build the distribution again");
    refused(netty + " is damaged: its digest is not the listed one; build the distribution again");
  }

  @Test
  @DisplayName(
      "A jar that the build did not put there is refused, since it would be on the class path")
  void foreign() throws Exception {
    Path foreign = Files.writeString(folder.resolve("lib/other.jar"), "x");
    refused(foreign + " is not of this build; remove it, or build the distribution again");
  }

  @Test
  @DisplayName("A jar that is missing is named")
  void missing() throws Exception {
    Files.delete(netty);
    refused(folder.resolve("lib") + " lacks netty.jar; build the distribution again");
  }

  @Test
  @DisplayName("Without the list of digests no jar is accepted")
  void noList() throws Exception {
    Files.delete(folder.resolve("libraries.list"));
    assertTrue(
        assertThrows(Refusal.class, this::check).getMessage().contains("libraries.list can not"));
    Files.writeString(folder.resolve("libraries.list"), "abc netty.jar\n");
    assertTrue(
        assertThrows(Refusal.class, this::check).getMessage().contains("is no SHA-256 digest"));
  }

  private void refused(String message) {
    assertEquals(message, assertThrows(Refusal.class, this::check).getMessage());
  }

  private void check() throws Exception {
    try (LibraryDigests.Check check = libraries.start(new CheckedNotes(notes))) {
      check.await();
    }
  }

  private static long count(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.count();
    }
  }
}
