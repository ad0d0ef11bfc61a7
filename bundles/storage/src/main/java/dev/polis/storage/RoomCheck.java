package dev.polis.storage;

import dev.polis.base.posix.FileSystems;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Checks the free room of the node's file systems. On a full file system, open files can grow for a
 * while into reserved space, but the next start fails.
 */
final class RoomCheck {
  private static final String LITTLE = "little-room";

  /** The least room on the data volume; etcd reserves this much for its log before it serves. */
  private static final long OF_DATA = 128L << 20;

  /**
   * The least room elsewhere: records and certificates have some KiB each, and a swap stages a
   * bundle of some MiB.
   */
  private static final long OF_OTHERS = 8L << 20;

  /** The least number of files: a start makes some hundred, most of them of the framework. */
  private static final long FILES = 500;

  /** Returns the number of bytes that the node can write in a folder, or of files it can make. */
  @FunctionalInterface
  interface Room {
    long in(Path folder) throws IOException;
  }

  private final Map<Path, Long> needed = new LinkedHashMap<>();
  private final Room bytes;
  private final Room files;

  RoomCheck(Root root, Room bytes, Room files) {
    this.bytes = bytes;
    this.files = files;
    needed.put(root.data().path(), OF_DATA);
    needed.put(root.path(), OF_OTHERS);
    needed.put(root.esp().path(), OF_OTHERS);
    needed.put(root.ephemeral().path(), OF_OTHERS);
  }

  static RoomCheck of(Root root) {
    return new RoomCheck(
        root,
        folder -> Files.getFileStore(folder).getUsableSpace(),
        folder -> FileSystems.freeFiles(folder).orElse(Long.MAX_VALUE));
  }

  /** Reports a folder with too little room. */
  Optional<HealthCondition> look() throws IOException {
    for (Map.Entry<Path, Long> each : needed.entrySet()) {
      if (Files.isDirectory(each.getKey())) {
        long free = bytes.in(each.getKey());
        if (free < each.getValue()) {
          return Optional.of(fewBytes(each.getKey(), free, each.getValue()));
        }
        long more = files.in(each.getKey());
        if (more < FILES) {
          return Optional.of(fewFiles(each.getKey(), more));
        }
      }
    }
    return Optional.empty();
  }

  private static HealthCondition fewBytes(Path folder, long free, long needed) {
    return HealthCondition.degraded(
        LITTLE,
        "the file system of %s has %d MiB left, but needs %d MiB: open files can grow for a while, but the next start fails"
            .formatted(folder, free >> 20, needed >> 20),
        "free some space there, or make that file system larger: df -h %s shows it"
            .formatted(folder));
  }

  private static HealthCondition fewFiles(Path folder, long more) {
    return HealthCondition.degraded(
        LITTLE,
        "the file system of %s can hold %d more files, but a start makes up to %d: open files can grow, but the next start fails"
            .formatted(folder, more, FILES),
        "delete files there: df -i %s shows their number, du --inodes the folders that hold most"
            .formatted(folder));
  }
}
