package dev.polis.plugins.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Kills an installing process, and checks the store that it leaves. */
class PluginStoreKillTest {
  @TempDir Path folder;

  @ParameterizedTest(name = "killed at {0}")
  @EnumSource(StoreStep.class)
  @DisplayName("After a kill at any step of an installation a whole generation is found")
  void killedAtAnyStep(StoreStep step) throws Exception {
    Path root = folder.resolve("plugins");
    List<StoredPlugin> before = StoreFixture.plugins("1.0.0-before");
    StoreFixture.install(PluginStore.open(root), folder, before);

    killWhen(step.name(), step.name(), root);

    Generation found = whole(root);
    boolean switched = step.compareTo(StoreStep.POINTER_RENAMED) >= 0;
    assertEquals(
        !switched,
        found.plugins().equals(new Generation(1, StoreFixture.ORIGIN, before).plugins()));
    goesOn(root);
  }

  @Test
  @DisplayName("200 kills at random moments never leave half a generation")
  @Tag("long")
  void killedAtRandomMoments() throws Exception {
    Path root = folder.resolve("plugins");
    StoreFixture.install(PluginStore.open(root), folder, StoreFixture.plugins("1.0.0"));
    Random random = new Random(1);
    for (int cycle = 0; cycle < 200; cycle++) {
      Process child = start("random", root);
      awaitLine(child, "BEGIN");
      // The child installs in a loop of a few milliseconds, so that a kill hits a random place in
      // it.
      child.waitFor(random.nextInt(30), TimeUnit.MILLISECONDS);
      child.destroyForcibly().waitFor();
      whole(root);
    }
    goesOn(root);
  }

  private void killWhen(String step, String line, Path root) throws Exception {
    Process child = start(step, root);
    awaitLine(child, line);
    child.destroyForcibly().waitFor();
  }

  private Process start(String step, Path root) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return new ProcessBuilder(
            java,
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            StoreKillMain.class.getName(),
            root.toString(),
            folder.toString(),
            step)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static void awaitLine(Process child, String line) throws IOException {
    BufferedReader out =
        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8));
    String read = out.readLine();
    while (read != null && !read.equals(line)) {
      read = out.readLine();
    }
    assertEquals(line, read, "the installing process ended before it reached the step");
  }

  private static Generation whole(Path root) throws Exception {
    PluginStore store = PluginStore.open(root);
    Generation found = store.current().orElseThrow();
    assertEquals(3, found.plugins().size());
    for (StoredPlugin plugin : found.plugins()) {
      assertTrue(Files.exists(store.verified(plugin)));
    }
    return found;
  }

  private void goesOn(Path root) throws Exception {
    PluginStore store = PluginStore.open(root);
    Generation next = StoreFixture.install(store, folder, StoreFixture.plugins("9.0.0-after"));
    store.collect();
    assertEquals(next, store.current().orElseThrow());
    try (var left = Files.walk(root)) {
      assertTrue(left.noneMatch(file -> file.getFileName().toString().startsWith("writing-")));
    }
  }
}
