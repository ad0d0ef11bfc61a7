package dev.polis.plugins.swap;

import dev.polis.base.values.Watcher;
import java.io.IOException;
import java.nio.file.Path;

/** Swaps in a process of its own until it is killed: at a named stage, or at any moment. */
public final class SwapKillMain {
  /** The line that is printed at the begin of a swap that will be killed at any moment. */
  static final String BEGIN = "BEGIN";

  private SwapKillMain() {}

  /**
   * Swaps.
   *
   * @param arguments the folder, and the stage to stop at or the version to swap to
   */
  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    if (Character.isDigit(arguments[1].charAt(0))) {
      SwapFixture resumed = SwapFixture.resume(folder);
      resumed.onStage = System.out::println;
      swap(resumed, arguments[1]);
      return;
    }
    SwapFixture node = SwapFixture.start(folder);
    node.onStage = stage -> stopAt(stage, arguments[1]);
    swap(node, "2.0.0");
  }

  private static void swap(SwapFixture node, String version) throws Exception {
    Path jar = node.base(version, "well");
    System.out.println(BEGIN);
    try (Watcher<SwapStatus> watcher =
        node.engine.begin(SwapFixture.swap(jar), SwapOptions.by("the test")).watch()) {
      watcher.get(status -> status.outcome().isPresent());
    }
    System.out.println("ENDED");
    awaitKill();
  }

  private static void stopAt(String stage, String wanted) {
    if (stage.equals(wanted)) {
      System.out.println(stage);
      awaitKill();
    }
  }

  private static void awaitKill() {
    try {
      // Blocks until the parent kills this process, since nothing is ever written to its pipe.
      System.in.read();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
