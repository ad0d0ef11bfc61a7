package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.plugins.swap.organs.TestOrgan;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Swaps in a bundle that lacks the class of its component. */
@Timeout(120)
class MissingClassTest {
  @TempDir Path folder;
  private SwapFixture node;

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  @DisplayName(
      "a version without its component's class is reverted at once, and the class is named")
  void reverted() throws Exception {
    Path jar = node.base("2.0.0", "well");
    String type = TestOrgan.class.getName();
    try (FileSystem archive = FileSystems.newFileSystem(jar)) {
      Files.delete(archive.getPath(type.replace('.', '/') + ".class"));
    }

    SwapStatus end = node.run(SwapFixture.swap(jar));

    SwapOutcome outcome = end.outcome().orElseThrow();
    assertInstanceOf(SwapOutcome.Reverted.class, outcome, outcome::reason);
    assertTrue(outcome.reason().contains("its class cannot be loaded"), outcome::reason);
    assertTrue(outcome.reason().contains(type), outcome::reason);
    assertTrue(end.stages().stream().noneMatch(SwapStage.Switched.class::isInstance));
    assertEquals(List.of("above 1.0.0", "base 1.0.0"), node.organs());
    assertEquals("1.0.0", node.served());
  }
}
