package dev.polis.plugins.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StagedFilesTest {
  private static final byte[] PIECE = new byte[1000];

  @TempDir Path folder;

  @Test
  @DisplayName("the newest file is kept when the clock was set back, and the oldest is deleted")
  void theClockWasSetBack() throws Exception {
    StagedFiles staged = StagedFiles.of(PluginStore.open(folder));
    Instant ahead = Instant.now().plusSeconds(3600);
    for (int number = 0; number < 8; number++) {
      Digest digest = stage(staged, "file " + number);
      Files.setLastModifiedTime(staged.file(digest), FileTime.from(ahead.plusSeconds(number)));
    }

    Digest newest = stage(staged, "the newest");

    assertTrue(staged.isWhole(newest));
    assertEquals(8, staged.whole().size());
    assertTrue(!staged.isWhole(Digest.of("file 0".getBytes(StandardCharsets.UTF_8))));
  }

  private static Digest stage(StagedFiles staged, String content) throws Exception {
    byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
    Digest digest = Digest.of(bytes);
    staged.write(digest, 0, ByteBuffer.wrap(bytes));
    staged.finish(digest, new byte[] {1});
    return digest;
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "Of files that are begun and never ended few stay on the disk, the newest among them")
  void begunFilesAreFew() throws Exception {
    PluginStore store = PluginStore.open(folder.resolve("plugins"));
    StagedFiles staged = StagedFiles.of(store);
    Digest last = Digest.of(new byte[0]);
    for (int each = 0; each < 30; each++) {
      last = Digest.of(new byte[] {(byte) each});
      staged.write(last, 0, ByteBuffer.wrap(PIECE));
    }
    try (Stream<Path> files = Files.list(StagedFiles.folder(store.folder()))) {
      assertTrue(files.count() <= 9);
    }
    assertEquals(PIECE.length, staged.size(last));
  }
}
