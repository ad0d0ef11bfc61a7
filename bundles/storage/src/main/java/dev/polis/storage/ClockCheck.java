package dev.polis.storage;

import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/**
 * Compares this machine's clock with the newest time that the node has written or seen, in this or
 * an earlier run. A clock that was set back makes today's certificates invalid, and gives later
 * records an earlier time. Thread-safe.
 */
final class ClockCheck {
  private static final String WENT_BACK = "clock-went-back";

  /** The tolerated step: a time service may set a clock back by seconds, which does no harm. */
  private static final Duration TOLERATED = Duration.ofMinutes(1);

  private final List<Path> folders;
  private final InstantSource clock;

  // Guarded by this.
  private Instant newest = Instant.MIN;
  private String evidence = "";

  /**
   * @param folders the folders of the node's files
   */
  ClockCheck(List<Path> folders, InstantSource clock) {
    this.folders = folders;
    this.clock = clock;
  }

  /**
   * Makes the check of a node over its records, its files of membership, and its launcher's files.
   */
  static ClockCheck of(Root root) {
    return new ClockCheck(
        List.of(
            AuditVolume.folder(root).path(),
            root.data().node().path(),
            root.esp().path(),
            root.ephemeral().launcher().path()),
        InstantSource.system());
  }

  /** Remembers the times of the existing files, before the node writes them again. */
  synchronized void remember() throws IOException {
    for (Path folder : folders) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, Files::isRegularFile)) {
        for (Path file : files) {
          remember(file);
        }
      } catch (NoSuchFileException notThere) {
        // The node has written none of these yet, or its volume is not mounted.
        continue;
      }
    }
  }

  private void remember(Path file) throws IOException {
    try {
      remember(Files.getLastModifiedTime(file).toInstant(), file + " was written at");
    } catch (NoSuchFileException gone) {
      // Temporary files come and go.
      return;
    }
  }

  private void remember(Instant time, String what) {
    if (time.isAfter(newest)) {
      newest = time;
      evidence = what;
    }
  }

  /** Reports a clock that was set back, with both times and the command. */
  synchronized Optional<HealthCondition> look() throws IOException {
    remember();
    Instant now = clock.instant();
    remember(now, "in this run it has shown");
    Duration back = Duration.between(now, newest);
    return back.compareTo(TOLERATED) > 0 ? Optional.of(condition(now)) : Optional.empty();
  }

  private HealthCondition condition(Instant now) {
    return HealthCondition.degraded(
        WENT_BACK,
        "this machine's clock went back: it shows %s, but %s %s"
            .formatted(second(now), evidence, second(newest)),
        "set the clock: timedatectl set-ntp true, or date -u -s TIME; if it is right now and was ahead before, this ends at %s, or with find %s -type f -newermt now -exec touch {} + and a restart of the node"
            .formatted(
                second(newest), String.join(" ", folders.stream().map(Path::toString).toList())));
  }

  private static Instant second(Instant time) {
    return time.truncatedTo(ChronoUnit.SECONDS);
  }
}
