package dev.polis.node;

import dev.polis.node.exit.RootCause;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.LongSupplier;
import jdk.management.VirtualThreadSchedulerMXBean;

/**
 * Notices that no virtual thread runs any more, since such a node answers no call. First it gives
 * virtual threads more carriers. If that does not help, it prints so, and leaves the stacks of all
 * threads for the operator, until the node answers again. For one thread of the system, which asks
 * now and then.
 *
 * <p>More carriers help against a deadlock that a machine with few processors meets: each carrier
 * is held by a virtual thread that loads a class, and waits for a lock meanwhile, for example of a
 * jar file. If the lock was passed to a virtual thread that needs a carrier, all wait for ever.
 */
final class Pulse {
  /** The pause between two looks: cheap, and short enough for a person. */
  static final Duration PACE = Duration.ofSeconds(5);

  /**
   * A virtual thread that waits this long for a processor is no matter of load: a collection of the
   * whole heap takes a second.
   */
  static final Duration LONG = Duration.ofSeconds(15);

  /**
   * The most carriers, as a multiple of those at first. More threads that compute would not leave
   * enough of the processors to the others.
   */
  private static final int MOST = 4;

  private final VirtualThreadSchedulerMXBean scheduler =
      ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class);

  private final int most = MOST * scheduler.getParallelism();
  private final NodeDirectory directory;
  private final Terminal terminal;
  private final LongSupplier nanos;
  private final Runnable alive;
  private volatile boolean beaten = true;
  private long since;
  private boolean told;

  /**
   * @param alive is called by each look that finds the node alive
   */
  Pulse(NodeDirectory directory, Terminal terminal, LongSupplier nanos, Runnable alive) {
    this.directory = directory;
    this.terminal = terminal;
    this.nanos = nanos;
    this.alive = alive;
    // Loads the classes that this call needs, since the lock of a jar file may be what is held.
    scheduler.setParallelism(scheduler.getParallelism());
  }

  /** Looks whether the virtual thread of the last time has run, and starts another if so. */
  void look() {
    if (beaten) {
      if (told) {
        told = false;
        tell("the node answers again", "");
      }
      alive.run();
      since = nanos.getAsLong();
      beaten = false;
      Thread.ofVirtual().name("pulse").start(() -> beaten = true);
      return;
    }
    addCarriers();
    Duration lasts = Duration.ofNanos(nanos.getAsLong() - since);
    if (!told && lasts.compareTo(LONG) >= 0) {
      told = true;
      ThreadStacks stacks = ThreadStacks.take();
      String words =
          "the node answers no calls since %s: %s"
              .formatted(
                  Instant.now().minus(lasts),
                  stacks.carriers().isEmpty() ? "no virtual thread runs" : stacks.carriers());
      tell(
          words + "; the stacks are in " + directory.unresponsive(),
          words + "\n\n" + stacks.text(List.of()));
    }
  }

  /** Adds carriers, which end when they have nothing to do; the number stays. */
  private void addCarriers() {
    int before = scheduler.getParallelism();
    if (before < most) {
      int after = Math.min(2 * before, most);
      scheduler.setParallelism(after);
      terminal.line(
          "no virtual thread got a processor for %d s: they have %d carriers now, %d before"
              .formatted(PACE.toSeconds(), after, before));
    }
  }

  private void tell(String line, String file) {
    try {
      if (file.isEmpty()) {
        Files.deleteIfExists(directory.unresponsive());
      } else {
        Files.writeString(directory.unresponsive(), file);
      }
    } catch (IOException e) {
      terminal.line(directory.unresponsive() + " can not be written: " + RootCause.of(e));
    }
    terminal.line(line);
  }
}
