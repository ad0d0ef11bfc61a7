package dev.polis.cluster.it.organs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends in the way that its property "behaviour" names. It refers only to the JDK, because tests
 * pack it into the bundles of organs, beside the organ's own component.
 */
public final class FaultyPredecessor {
  private static final long LOOK = TimeUnit.MILLISECONDS.toNanos(20);
  private static final int EXIT_CODE = 7;

  private Path end = Path.of("");
  private String behaviour = "";

  /** Declarative Services calls this. */
  public void activate(Map<String, Object> properties) {
    end = Path.of(String.valueOf(properties.get("end")));
    behaviour = String.valueOf(properties.get("behaviour"));
  }

  /** Declarative Services calls this. */
  public void deactivate() throws Exception {
    switch (behaviour) {
      case "HANGS" -> awaitEnd();
      case "THROWS" -> throw new IllegalStateException("the door is locked");
      case "LEAKS" -> Thread.ofPlatform().name("leak").daemon().start(this::awaitEnd);
      case "EXITS" -> {
        if (!Files.exists(end)) {
          Files.createFile(end);
          System.exit(EXIT_CODE);
        }
      }
      default -> {
        // These behaviours end normally.
      }
    }
  }

  /** Loops and ignores interrupts. */
  private void awaitEnd() {
    while (!Files.exists(end)) {
      // An interrupted thread would not pause, and take a processor.
      Thread.interrupted();
      LockSupport.parkNanos(LOOK);
    }
  }
}
