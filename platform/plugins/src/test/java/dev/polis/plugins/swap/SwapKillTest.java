package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kills a process that swaps, and looks at what the next start of it would find. */
@Timeout(120)
class SwapKillTest {
  @TempDir Path folder;

  @ParameterizedTest(name = "killed at {0}")
  @ValueSource(
      strings = {"installed", "started", "proved", "switched", "gated", "committed", "retired"})
  @DisplayName("Whatever stage a swap is killed at, the old or the new generation is there whole")
  void killedAtAnyStage(String stage) throws Exception {
    killAt(stage);

    PluginStore store = PluginStore.open(folder.resolve("plugins"));
    Generation found = store.current().orElseThrow();
    boolean committed = Set.of("committed", "retired").contains(stage);
    assertEquals(committed ? 2 : 1, found.number());
    for (StoredPlugin plugin : found.plugins()) {
      assertTrue(Files.exists(store.verified(plugin)));
    }
    SwapRecord open = SwapNotes.of(store).underWay().orElseThrow();
    assertEquals(committed, open.target().equals(found.fingerprint()), open::toString);
  }

  private void killAt(String stage) throws Exception {
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                SwapKillMain.class.getName(),
                folder.toString(),
                stage)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      BufferedReader out =
          new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8));
      String read = out.readLine();
      while (read != null && !read.equals(stage)) {
        read = out.readLine();
      }
      assertEquals(stage, read, "the process ended before it reached the stage");
    } finally {
      child.destroyForcibly().waitFor();
    }
  }
}
