package dev.polis.plugins.store;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;

/**
 * Installs generation after generation in a process of its own, until it is killed, at a named step
 * or at any moment.
 */
public final class StoreKillMain {
  private StoreKillMain() {}

  /**
   * @param arguments the store, the folder for sources, and the step to stop at, or "random" to
   *     continue for ever
   */
  public static void main(String[] arguments) throws Exception {
    Path sources = Path.of(arguments[1]);
    String wanted = arguments[2];
    PluginStore store = PluginStore.open(Path.of(arguments[0]), step -> stopAt(step, wanted));
    Random random = new Random();
    System.out.println("BEGIN");
    while (true) {
      List<StoredPlugin> plugins = StoreFixture.plugins(random.nextInt(1000) + ".0.0");
      StoreFixture.install(store, sources, plugins);
      store.collect();
    }
  }

  private static void stopAt(StoreStep step, String wanted) {
    if (!step.name().equals(wanted)) {
      return;
    }
    System.out.println(step);
    try {
      // Blocks until the parent kills this process, since nothing is ever written to its pipe.
      System.in.read();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
