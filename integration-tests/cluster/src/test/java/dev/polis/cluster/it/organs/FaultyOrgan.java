package dev.polis.cluster.it.organs;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.osgi.framework.BundleContext;

/**
 * Fails in the way that its property "behaviour" names. It refers to platform packages only,
 * because it is packed into bundles of tests that a real node runs.
 */
public final class FaultyOrgan {
  /**
   * The time between two mebibytes that a version eats. On a busy machine a swap takes up to a
   * third of a second to see and to stop it.
   */
  private static final long EATEN_MILLIS = 20;

  /** More memory than the heap of a node has. */
  private static final int MOST_MEBIBYTES = 1024;

  /** More threads than any organ needs. */
  private static final int THREADS = 200;

  private static final long MINUTES = 10;

  /** A lock on which interruptible code waits. */
  private static final CountDownLatch NEVER = new CountDownLatch(1);

  private final List<byte[]> held = new ArrayList<>();
  private volatile boolean ended;
  private Path end = Path.of("");
  private String behaviour = "";

  /** Null while the component is not active. */
  private HealthScope scope;

  /** Declarative Services calls this. */
  public void activate(BundleContext context, Map<String, Object> properties) throws Exception {
    end = Path.of(String.valueOf(properties.get("end")));
    behaviour = String.valueOf(properties.get("behaviour"));
    switch (behaviour) {
      case "throws" -> throw new IllegalStateException("the ticket is too short: 3 bytes");
      case "loops" -> loop(end);
      case "starts-slowly" -> NEVER.await(MINUTES, TimeUnit.MINUTES);
      case "eats-until-interrupted" -> eatUntilInterrupted();
      case "asks-for-more-than-there-is" -> held.add(new byte[MOST_MEBIBYTES << 20]);
      default -> {
        // These behaviours fail later, or not at all.
      }
    }
    scope =
        context
            .getService(context.getServiceReference(HealthRegistry.class))
            .organ("faulty", "root.faulty");
    HealthCondition down =
        HealthCondition.down("no-answer", "nothing answers on port 1", "mend the organ");
    switch (behaviour) {
      case "never-healthy" -> scope.set(down);
      case "healthy-then-not" -> later(() -> scope.set(down));
      case "eats" -> later(this::eat);
      case "leaks-threads" -> leak(end);
      case "leaks-and-throws" -> {
        waitFor(end, "leak-0");
        scope.close();
        throw new IllegalStateException("the ticket is too short: 3 bytes");
      }
      default -> {
        // These behaviours are healthy.
      }
    }
  }

  /** Loops and ignores interrupts. */
  private static void loop(Path end) {
    while (!Files.exists(end)) {
      Thread.onSpinWait();
    }
  }

  private static void later(Runnable failure) {
    Thread.ofVirtual()
        .start(
            () -> {
              LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
              failure.run();
            });
  }

  private void eatUntilInterrupted() throws InterruptedException {
    while (held.size() < MOST_MEBIBYTES) {
      held.add(new byte[1 << 20]);
      NEVER.await(EATEN_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  private void eat() {
    while (held.size() < MOST_MEBIBYTES && !ended) {
      held.add(new byte[1 << 20]);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(EATEN_MILLIS));
    }
  }

  private static void leak(Path end) {
    for (int number = 0; number < THREADS; number++) {
      waitFor(end, "leak-" + number);
    }
  }

  /** Starts a thread that does not end with this component. */
  private static void waitFor(Path end, String name) {
    Thread.ofPlatform()
        .name(name)
        .daemon()
        .start(
            () -> {
              while (!Files.exists(end)) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
              }
            });
  }

  /** Declarative Services calls this. */
  public void deactivate() {
    ended = true;
    held.clear();
    if (scope != null) {
      scope.close();
    }
  }
}
