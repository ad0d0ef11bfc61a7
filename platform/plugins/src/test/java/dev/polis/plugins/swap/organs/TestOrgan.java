package dev.polis.plugins.swap.organs;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/**
 * Stands for an organ in tests of swaps: the property "behaviour" of its component sets its
 * behaviour. It offers its version as a service.
 */
public final class TestOrgan implements Supplier<String> {
  /** Ends components that loop, after the test that needs one. */
  public static final String END_LOOPS = "polis.test.end.loops";

  private String version = "";

  private final List<byte[]> eaten = new ArrayList<>();
  private volatile boolean ended;
  private String behaviour = "";

  /** Null while the organ is not active, or publishes no health. */
  private HealthScope scope;

  /** Declarative Services calls this. */
  public void activate(BundleContext context, Map<String, Object> properties) throws Exception {
    version = context.getBundle().getVersion().toString();
    String name = context.getBundle().getSymbolicName().replace("dev.polis.", "");
    if (String.valueOf(properties.get("port")).equals("13")) {
      throw new IllegalArgumentException("port 13 brings bad luck: choose another");
    }
    behaviour = String.valueOf(properties.get("behaviour"));
    switch (behaviour) {
      case "throws" -> throw new IllegalStateException("the ticket is too short: 3 bytes");
      case "sleeps" -> new CountDownLatch(1).await();
      case "loops" -> loop();
      case "eats-at-once" -> eat();
      default -> {
        // These behaviours work at once.
      }
    }
    ServiceReference<HealthRegistry> health = context.getServiceReference(HealthRegistry.class);
    scope = context.getService(health).organ(name, "");
    HealthCondition down = HealthCondition.down("broken", "nothing answers on port 1", "");
    if (behaviour.startsWith("unhealthy")) {
      scope.set(down);
    } else if (behaviour.equals("then-unhealthy")) {
      HealthScope later = scope;
      Thread.ofVirtual().start(() -> spoil(later, down));
    } else if (behaviour.equals("eats")) {
      Thread.ofVirtual().start(this::eat);
    } else if (behaviour.equals("threads") || behaviour.equals("thread")) {
      leak(behaviour.equals("thread") ? 1 : 40);
    } else if (behaviour.equals("thread-then-throws")) {
      leak(1);
      throw new IllegalStateException("the ticket is too short: 3 bytes");
    } else if (behaviour.equals("alone")) {
      wait(context, health, name);
    } else if (behaviour.equals("wide-then-fails")) {
      HealthScope later = scope;
      Thread.ofVirtual().start(() -> failAlone(context, name, later, down));
    }
  }

  /** Is well as long as another instance of it is there. */
  private void failAlone(
      BundleContext context, String name, HealthScope scope, HealthCondition down) {
    while (instances(context, name) > 1) {
      pause(10);
    }
    if (!ended) {
      scope.set(down);
    }
  }

  /**
   * Keeps growing memory, up to ten times a test's limit, most of it at once: memory counts after a
   * collection, and the first one happens when new objects fill their pool.
   */
  private void eat() {
    for (int megabyte = 0; megabyte < 320 && !ended; megabyte++) {
      eaten.add(new byte[1 << 20]);
      if (megabyte > 256) {
        pause(2);
      }
    }
  }

  /** Starts threads that do not end with this component. */
  private static void leak(int threads) {
    for (int number = 0; number < threads; number++) {
      Thread.ofPlatform().name("leak-" + number).daemon().start(TestOrgan::loop);
    }
  }

  /** Loops until the test ends, and ignores interrupts. */
  static void loop() {
    while (!Boolean.getBoolean(END_LOOPS)) {
      // An interrupted thread would not pause, and take a processor.
      Thread.interrupted();
      pause(10);
    }
  }

  /** Is DOWN while another instance of it exists. */
  private void wait(BundleContext context, ServiceReference<HealthRegistry> health, String name) {
    HealthScope mine = scope;
    Thread.ofVirtual()
        .start(
            () -> {
              mine.set(HealthCondition.down("taken", "port 7840 is taken", ""));
              while (instances(context, name) > 1) {
                pause(10);
              }
              mine.clear("taken");
            });
  }

  private static long instances(BundleContext context, String name) {
    return Optional.ofNullable(context.getBundle(0).getBundleContext().getBundles()).stream()
        .flatMap(java.util.Arrays::stream)
        .filter(bundle -> ("dev.polis." + name).equals(bundle.getSymbolicName()))
        .filter(bundle -> bundle.getState() == org.osgi.framework.Bundle.ACTIVE)
        .count();
  }

  private static void spoil(HealthScope scope, HealthCondition down) {
    pause(100);
    scope.set(down);
  }

  private static void pause(long millis) {
    LockSupport.parkNanos(Duration.ofMillis(millis).toNanos());
  }

  /** Declarative Services calls this. */
  public void deactivate() {
    ended = true;
    if (scope != null) {
      scope.close();
    }
    if (behaviour.endsWith("end-throws")) {
      throw new IllegalStateException("the door is locked");
    }
    if (behaviour.endsWith("hangs")) {
      loop();
    }
  }

  @Override
  public String get() {
    return version;
  }
}
