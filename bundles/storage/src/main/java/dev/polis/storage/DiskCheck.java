package dev.polis.storage;

import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.function.LongSupplier;

/**
 * Writes to the disks of the node, and reports one that refuses a write or does not end it. Without
 * this check a disk that hangs looks like etcd without a leader. One thread uses it.
 */
final class DiskCheck {
  private static final String SILENT = "disk-silent";
  private static final String REFUSES = "disk-refuses-writes";
  private static final String FILE = ".disk-check";

  /** Twice the time after which etcd, whose writes wait as well, loses its leadership. */
  private static final Duration LATE = Duration.ofSeconds(10);

  /** Makes one write, and waits until the disk has it. */
  @FunctionalInterface
  interface Writer {
    void write(Path folder) throws IOException;
  }

  private record Attempt(long since, FutureTask<Void> write) {}

  private final List<Path> folders;
  private final Writer writer;
  private final LongSupplier nanoTime;
  private final Map<Path, Attempt> attempts = new HashMap<>();

  /**
   * @param nanoTime a monotonic clock
   */
  DiskCheck(Root root, Writer writer, LongSupplier nanoTime) {
    this.folders = List.of(root.data().path(), root.ephemeral().path());
    this.writer = writer;
    this.nanoTime = nanoTime;
  }

  static DiskCheck of(Root root) {
    return new DiskCheck(root, DiskCheck::write, System::nanoTime);
  }

  private static void write(Path folder) throws IOException {
    try (FileChannel file =
        FileChannel.open(
            folder.resolve(FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.wrap(new byte[1]), 0);
      file.force(false);
    }
  }

  /** Reports what the writes of the earlier looks have shown, and begins the next ones. */
  Optional<HealthCondition> look() {
    return folders.stream().flatMap(folder -> look(folder).stream()).findFirst();
  }

  private Optional<HealthCondition> look(Path folder) {
    Attempt last = attempts.get(folder);
    if (last != null && !last.write().isDone()) {
      return nanoTime.getAsLong() - last.since() > LATE.toNanos()
          ? Optional.of(silent(folder))
          : Optional.empty();
    }
    Optional<HealthCondition> found =
        last != null && last.write().state() == Future.State.FAILED
            ? failed(folder, last.write().exceptionNow())
            : Optional.empty();
    if (Files.isDirectory(folder)) {
      begin(folder);
    } else {
      attempts.remove(folder);
    }
    return found;
  }

  /**
   * Begins a write on a thread that may outlive this check: the kernel interrupts no thread that
   * waits for a disk, and the thread ends when the disk answers.
   */
  private void begin(Path folder) {
    FutureTask<Void> write =
        new FutureTask<>(
            () -> {
              writer.write(folder);
              return null;
            });
    attempts.put(folder, new Attempt(nanoTime.getAsLong(), write));
    Thread.ofPlatform().daemon().name("storage-disk-check").start(write);
  }

  private static HealthCondition silent(Path folder) {
    return HealthCondition.down(
        SILENT,
        "a write to %s has not ended for more than %d s: the disk there does not answer, and all that writes to it waits"
            .formatted(folder, LATE.toSeconds()),
        "dmesg shows a disk that fails: replace it; a file system that is frozen continues with fsfreeze --unfreeze (findmnt --target %s shows it), one on another machine when that machine is reached again"
            .formatted(folder));
  }

  /** Reports a refusal, but for want of room, which {@link RoomCheck} reports before. */
  private static Optional<HealthCondition> failed(Path folder, Throwable failure) {
    if (!(failure instanceof IOException refusal)) {
      throw new IllegalStateException("the check of the disk of " + folder + " failed", failure);
    }
    Problem problem = DiskTrouble.of(refusal);
    if (problem == Problem.FULL || refusal instanceof NoSuchFileException) {
      return Optional.empty();
    }
    return Optional.of(
        HealthCondition.down(
            REFUSES,
            "the disk of %s refuses writes: %s".formatted(folder, DiskTrouble.reason(refusal)),
            problem == Problem.READ_ONLY
                ? "mount -o remount,rw with the mount point that findmnt --target %s shows; if the kernel refuses that, it has found an error, which dmesg shows: polis down, unmount it, repair it with fsck, mount it, polis up"
                    .formatted(folder)
                : "dmesg shows whether the disk fails: replace it, and restore data/etcd from a copy, or let the node join anew"));
  }
}
