package dev.polis.storage;

import dev.polis.files.layout.Root;
import dev.polis.health.ClockRemedy;
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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Compares this machine's clock with the newest time that the node has written or seen, in this or
 * an earlier run. A clock that was set back makes today's certificates invalid, and gives later
 * records an earlier time. A clock that steps forward in this run, and back by as much, is well:
 * the monotonic clock shows that it was ahead for a while. Thread-safe.
 */
final class ClockCheck {
  private static final String WENT_BACK = "clock-went-back";

  /** The tolerated step: a time service may set a clock back by seconds, which does no harm. */
  private static final Duration TOLERATED = Duration.ofMinutes(1);

  /** The steps forward that may be undone: more than a person makes before the clock is right. */
  private static final int REMEMBERED = 8;

  private final List<Path> folders;
  private final InstantSource clock;
  private final LongSupplier nanoTime;

  // Guarded by this.
  private Instant newestFile = Instant.MIN;
  private String evidence = "";
  private Instant latest = Instant.MIN; // that this run has ever shown
  private Instant shown = Instant.MIN; // the same, without a time ahead that is over
  private Duration offset; // of the clock to the monotonic one, at the last look
  private Duration soundOffset; // the same, at the last look at which the clock was not behind
  private final Deque<Duration> beforeSteps =
      new ArrayDeque<>(); // the offsets before steps forward

  /**
   * @param folders the folders of the node's files
   * @param nanoTime a monotonic clock
   */
  ClockCheck(List<Path> folders, InstantSource clock, LongSupplier nanoTime) {
    this.folders = folders;
    this.clock = clock;
    this.nanoTime = nanoTime;
    this.offset = offset(clock.instant());
    this.soundOffset = offset;
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
        InstantSource.system(),
        System::nanoTime);
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
      remember(file, Files.getLastModifiedTime(file).toInstant());
    } catch (NoSuchFileException gone) {
      // Temporary files come and go.
      return;
    }
  }

  /** Keeps the time of a file, unless this node's own clock explains it. */
  private void remember(Path file, Instant time) {
    if (time.isAfter(newestFile) && (latest.equals(Instant.MIN) || isBehind(latest, time))) {
      newestFile = time;
      evidence = file + " was written at";
    }
  }

  /** Reports a clock that was set back, with both times and the command. */
  synchronized Optional<HealthCondition> look() throws IOException {
    Instant now = clock.instant();
    Duration former = offset;
    offset = offset(now);
    // A clock that was set back and is right again was never ahead.
    if (offset.minus(former).compareTo(TOLERATED) > 0
        && offset.minus(soundOffset).compareTo(TOLERATED) > 0) {
      beforeSteps.addLast(soundOffset);
      if (beforeSteps.size() > REMEMBERED) {
        beforeSteps.removeFirst();
      }
    }
    boolean steppedBack =
        beforeSteps.stream()
            .anyMatch(before -> offset.minus(before).abs().compareTo(TOLERATED) <= 0);
    if (now.isAfter(shown) || isBehind(now, shown) && steppedBack) {
      shown = now;
    }
    latest = now.isAfter(latest) ? now : latest;
    remember();
    if (isBehind(now, newestFile)) {
      return Optional.of(condition(now, evidence, newestFile));
    }
    if (isBehind(now, shown)) {
      return Optional.of(condition(now, "in this run it has shown", shown));
    }
    soundOffset = offset;
    return Optional.empty();
  }

  private static boolean isBehind(Instant time, Instant other) {
    return other.isAfter(time) && Duration.between(time, other).compareTo(TOLERATED) > 0;
  }

  private Duration offset(Instant now) {
    return Duration.between(Instant.EPOCH.plusNanos(nanoTime.getAsLong()), now);
  }

  private HealthCondition condition(Instant now, String what, Instant newest) {
    return HealthCondition.degraded(
        WENT_BACK,
        "this machine's clock went back: it shows %s, but %s %s"
            .formatted(second(now), what, second(newest)),
        "%s; if it is right now and was ahead before, this ends at %s, or with find %s -type f -newermt now -exec touch {} + and a restart of the node"
            .formatted(
                ClockRemedy.SET,
                second(newest),
                String.join(" ", folders.stream().map(Path::toString).toList())));
  }

  private static Instant second(Instant time) {
    return time.truncatedTo(ChronoUnit.SECONDS);
  }
}
