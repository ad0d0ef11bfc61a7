package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramFilesTest {

  @TempDir private Path folder;

  private Path library;
  private Path other;
  private Path bundle;
  private ProgramFiles files;

  @BeforeEach
  void process() throws IOException {
    library = Files.writeString(folder.resolve("a.jar"), "whole");
    other = Files.writeString(folder.resolve("b.jar"), "whole");
    bundle = Files.writeString(folder.resolve("bundle.jar"), "whole");
    Files.writeString(
        folder.resolve("cmdline"), "java\0-cp\0%s:%s\0Main\0run\0".formatted(library, other));
    Files.createDirectory(folder.resolve("fd"));
    Files.createSymbolicLink(folder.resolve("fd/3"), bundle);
    files = new ProgramFiles(folder);
    assertEquals(List.of(), files.changed());
  }

  @Test
  @DisplayName("jars of the class path and open bundles are named that were cut or are gone")
  void changed() throws Exception {
    Files.writeString(library, "cut");
    Files.delete(other);
    Files.writeString(bundle, "another one");
    List<String> changed = files.changed();
    assertEquals(
        List.of(library + " has changed", other + " is gone", bundle + " has changed"), changed);
    assertEquals(library + " has changed, and 2 more", ProgramFiles.text(changed));
  }

  @Test
  @DisplayName("a bundle that the process has closed, as after a swap, is none of its files")
  void swapped() throws Exception {
    Files.delete(folder.resolve("fd/3"));
    Files.delete(bundle);
    assertEquals(List.of(), files.changed());
  }

  @Test
  @DisplayName("against the time of the start, an older jar has not changed")
  void since() throws Exception {
    Files.delete(other);
    assertEquals(
        List.of(other + " is gone"),
        files.changedSince(FileTime.from(Instant.now().plusSeconds(9))));
    assertEquals(
        List.of(library + " has changed", other + " is gone"),
        files.changedSince(FileTime.from(Instant.EPOCH)));
  }
}
