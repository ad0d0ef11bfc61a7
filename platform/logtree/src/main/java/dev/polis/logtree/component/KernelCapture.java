package dev.polis.logtree.component;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Logs the messages of the machine's kernel as {@code root.kernel}: those since the machine's
 * start, and new ones as they come. A flood of them leaves the other names their room: beyond a
 * limit they are only counted.
 */
final class KernelCapture implements AutoCloseable {
  static final String DN = "root.kernel";

  /** A start of a machine has several hundred to two thousand messages. */
  static final int BURST = 4096;

  /** Enough for a device that fails with each access, and a small part of the tree's room. */
  static final int PER_SECOND = 20;

  /** Twice the longest record, which the kernel gives only as a whole. */
  private static final int LONGEST = 16 << 10;

  /** The words of EPIPE: the kernel has overwritten the record that this reader was at. */
  private static final String OVERWRITTEN = "Broken pipe";

  /** Priority with facility, number, microseconds since the start, flags; then the message. */
  private static final Pattern RECORD = Pattern.compile("(\\d{1,9}),\\d+,(\\d{1,15}),[^;]*;(.*)");

  private static final int SEVERITIES = 8;
  private static final int ERROR = 3;
  private static final int WARNING = 4;

  private final LogTree tree;
  private final FileChannel device;
  private final LongSupplier nanos;
  private final Thread thread;
  private long refilled;
  private double room = BURST;
  private long left;

  private KernelCapture(LogTree tree, FileChannel device, LongSupplier nanos) {
    this.tree = tree;
    this.device = device;
    this.nanos = nanos;
    this.refilled = nanos.getAsLong();
    // A read of a device would hold the carrier of a virtual thread for ever.
    this.thread = Thread.ofPlatform().daemon().name("kernel log").unstarted(this::run);
  }

  /**
   * Starts to read.
   *
   * @param nanos the time since the start of the machine, as {@link System#nanoTime} is on Linux
   * @throws IOException if the device cannot be opened
   */
  static KernelCapture start(LogTree tree, Path device, LongSupplier nanos) throws IOException {
    KernelCapture capture =
        new KernelCapture(tree, FileChannel.open(device, StandardOpenOption.READ), nanos);
    capture.thread.start();
    return capture;
  }

  /** Ends the read, and waits for the thread. */
  @Override
  public void close() {
    try {
      device.close();
      thread.join();
    } catch (IOException e) {
      log(Severity.WARNING, "the kernel's log does not close: " + e.getMessage());
    } catch (InterruptedException e) {
      // The closing thread does not wait; the reading one ends, since its device is closed.
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(LONGEST);
    while (true) {
      try {
        buffer.clear();
        if (device.read(buffer) < 0) {
          return;
        }
        StandardCharsets.UTF_8.decode(buffer.flip()).toString().lines().forEach(this::line);
      } catch (ClosedChannelException closed) {
        return;
      } catch (IOException e) {
        if (!OVERWRITTEN.equals(e.getMessage())) {
          log(Severity.ERROR, "the kernel's log cannot be read any more: " + e.getMessage());
          return;
        }
        log(Severity.WARNING, "the kernel has overwritten messages before they were read");
      }
    }
  }

  /** Logs a line; lines behind a record, which begin with a space, are about its device. */
  private void line(String line) {
    Matcher record = RECORD.matcher(line);
    if (!record.matches()) {
      return;
    }
    if (!admitted()) {
      left++;
      return;
    }
    if (left > 0) {
      log(Severity.WARNING, left + " messages of the kernel came too fast and are not logged");
      left = 0;
    }
    int priority = Integer.parseInt(record.group(1)) % SEVERITIES;
    Severity severity =
        priority <= ERROR ? Severity.ERROR : priority == WARNING ? Severity.WARNING : Severity.INFO;
    long micros = Long.parseLong(record.group(2));
    Duration ago = Duration.ofNanos(nanos.getAsLong()).minus(Duration.ofNanos(micros * 1000));
    tree.append(DN, LogPayload.Leveled.of(severity, Instant.now().minus(ago), "", record.group(3)));
  }

  private boolean admitted() {
    long now = nanos.getAsLong();
    room = Math.min(BURST, room + (now - refilled) * PER_SECOND / 1e9);
    refilled = now;
    if (room < 1) {
      return false;
    }
    room--;
    return true;
  }

  private void log(Severity severity, String text) {
    tree.append(DN, LogPayload.Leveled.of(severity, Instant.now(), "", text));
  }
}
