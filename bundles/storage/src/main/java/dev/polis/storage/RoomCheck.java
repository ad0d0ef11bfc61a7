package dev.polis.storage;

import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Looks how much room the file systems of the node have. What is open writes on for a while on a
 * full one, into what it has set aside, and the next start fails.
 */
final class RoomCheck {
  private static final String LITTLE = "little-room";

  /** etcd sets aside as much for its log before it serves. */
  private static final long OF_DATA = 128L << 20;

  /**
   * Records and certificates of the node have some KiB each; a swap stages a bundle of some MiB.
   */
  private static final long OF_OTHERS = 8L << 20;

  /** Tells how many bytes can be written in a folder. */
  @FunctionalInterface
  interface Room {
    long in(Path folder) throws IOException;
  }

  private final Map<Path, Long> needed = new LinkedHashMap<>();
  private final Room room;

  RoomCheck(Root root, Room room) {
    this.room = room;
    needed.put(root.data().path(), OF_DATA);
    needed.put(root.path(), OF_OTHERS);
    needed.put(root.esp().path(), OF_OTHERS);
    needed.put(root.ephemeral().path(), OF_OTHERS);
  }

  static RoomCheck of(Root root) {
    return new RoomCheck(root, folder -> Files.getFileStore(folder).getUsableSpace());
  }

  /** Returns which folder has less room than is needed there. */
  Optional<HealthCondition> look() throws IOException {
    for (Map.Entry<Path, Long> each : needed.entrySet()) {
      if (Files.isDirectory(each.getKey())) {
        long free = room.in(each.getKey());
        if (free < each.getValue()) {
          return Optional.of(condition(each.getKey(), free, each.getValue()));
        }
      }
    }
    return Optional.empty();
  }

  private static HealthCondition condition(Path folder, long free, long needed) {
    return HealthCondition.degraded(
        LITTLE,
        "the file system of %s has %d MiB left, and %d MiB are needed there: what is open writes on for a while, and the next start fails"
            .formatted(folder, free >> 20, needed >> 20),
        "free some space there, or make that file system larger: df -h %s shows it"
            .formatted(folder));
  }
}
