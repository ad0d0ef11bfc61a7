package dev.polis.plugins.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StagedFilesTest {
  private static final byte[] PIECE = new byte[1000];

  @TempDir Path folder;

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
