package dev.polis.cluster.it.organs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Is a component that ends as its property "behaviour" says. It refers to the JDK alone, because
 * tests pack it into the bundles of organs, beside the organ's own component.
 */
public final class FaultyPredecessor {
  private static final long LOOK = TimeUnit.MILLISECONDS.toNanos(20);
  private static final int EXIT_CODE = 7;

  private Path end = Path.of("");
  private String behaviour = "";

  /** Called by Declarative Services. */
  public void activate(Map<String, Object> properties) {
    end = Path.of(String.valueOf(properties.get("end")));
    behaviour = String.valueOf(properties.get("behaviour"));
  }

  /** Called by Declarative Services. */
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
        // It ends.
      }
    }
  }

  /** Listens to no interrupt. */
  private void awaitEnd() {
    while (!Files.exists(end)) {
      LockSupport.parkNanos(LOOK);
    }
  }
}
