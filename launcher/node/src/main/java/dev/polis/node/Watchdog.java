package dev.polis.node;

import dev.polis.node.exit.RootCause;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Feeds a watchdog: a device that restarts the machine when no process has written to it for its
 * time. It stays armed when this process ends: the init of the machine starts the next process
 * within that time, or ends the machine, which switches the device off.
 */
final class Watchdog implements AutoCloseable {
  private static final Path KERNEL = Path.of("/sys/class/watchdog");

  private final OutputStream device;
  private final Consumer<String> terminal;
  private boolean told;

  private Watchdog(OutputStream device, Consumer<String> terminal) {
    this.device = device;
    this.terminal = terminal;
  }

  /**
   * Opens a device, which arms it, and prints its time, or why the machine has no watchdog.
   *
   * @param device empty if the node has none
   */
  static Watchdog open(Optional<Path> device, Consumer<String> terminal) {
    if (device.isEmpty()) {
      return new Watchdog(OutputStream.nullOutputStream(), terminal);
    }
    Path path = device.get();
    try {
      OutputStream open = Files.newOutputStream(path, StandardOpenOption.WRITE);
      terminal.accept(
          "the watchdog %s restarts this machine if the node answers no calls for %s s"
              .formatted(path, seconds(path)));
      return new Watchdog(open, terminal);
    } catch (IOException e) {
      terminal.accept(
          "no watchdog restarts this machine if the node hangs: %s cannot be opened (%s)"
              .formatted(path, RootCause.of(e)));
      return new Watchdog(OutputStream.nullOutputStream(), terminal);
    }
  }

  private static String seconds(Path device) throws IOException {
    Path timeout = KERNEL.resolve(device.getFileName()).resolve("timeout");
    return Files.exists(timeout) ? Files.readString(timeout).strip() : "some";
  }

  /** Tells the device that the node is alive. */
  void feed() {
    try {
      device.write(0);
    } catch (IOException e) {
      if (!told) {
        told = true;
        terminal.accept(
            "the watchdog takes no sign of life (%s); it will restart this machine"
                .formatted(RootCause.of(e)));
      }
    }
  }

  @Override
  public void close() throws IOException {
    device.close();
  }
}
