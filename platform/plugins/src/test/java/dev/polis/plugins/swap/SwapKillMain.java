package dev.polis.plugins.swap;

import dev.polis.event.Watcher;
import java.io.IOException;
import java.nio.file.Path;

/** Swaps in a process of its own, and stops at a named stage until it is killed. */
public final class SwapKillMain {
  private SwapKillMain() {}

  /**
   * Swaps.
   *
   * @param arguments the folder, and the stage to stop at
   */
  public static void main(String[] arguments) throws Exception {
    SwapFixture node = SwapFixture.start(Path.of(arguments[0]));
    node.onStage = stage -> stopAt(stage, arguments[1]);
    try (Watcher<SwapStatus> watcher =
        node.engine
            .begin(SwapFixture.swap(node.base("2.0.0", "well")), SwapOptions.by("the test"))
            .watch()) {
      watcher.get(status -> status.outcome().isPresent());
    }
    System.out.println("ENDED");
  }

  private static void stopAt(String stage, String wanted) {
    if (!stage.equals(wanted)) {
      return;
    }
    System.out.println(stage);
    try {
      // Blocks until the parent kills this process; its pipe is never written to.
      System.in.read();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
