package dev.polis.node;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Notices that no virtual thread runs any more, since such a node answers no call: then it prints
 * so, and leaves the stacks of all threads for the operator, until the node answers again. For one
 * thread of the system, which asks now and then.
 */
final class Pulse {
  /** The pause between two looks: cheap, and short enough for a person. */
  static final Duration PACE = Duration.ofSeconds(5);

  /**
   * A virtual thread that waits this long for a processor is no matter of load: a collection of the
   * whole heap takes a second.
   */
  static final Duration LONG = Duration.ofSeconds(15);

  private final NodeDirectory directory;
  private final Terminal terminal;
  private final LongSupplier nanos;
  private volatile boolean beaten = true;
  private long since;
  private boolean told;

  Pulse(NodeDirectory directory, Terminal terminal, LongSupplier nanos) {
    this.directory = directory;
    this.terminal = terminal;
    this.nanos = nanos;
  }

  /** Looks whether the virtual thread of the last time has run, and starts another if so. */
  void look() {
    if (beaten) {
      if (told) {
        told = false;
        tell("the node answers again", "");
      }
      since = nanos.getAsLong();
      beaten = false;
      Thread.ofVirtual().name("pulse").start(() -> beaten = true);
      return;
    }
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
