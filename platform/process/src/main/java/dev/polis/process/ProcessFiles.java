package dev.polis.process;

import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Mode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reads and writes a directory of processes, with NAME.json, NAME.log, NAME.log.1, NAME.tail and
 * NAME.lock for each.
 */
final class ProcessFiles {
  /** The locks of this process's threads, since file locks belong to a whole Java process. */
  private static final Map<Path, ReentrantLock> LOCKS = new ConcurrentHashMap<>();

  private static final String RECORD = ".json";

  /**
   * The age from which a temporary file counts as left by a killed process; a replacement takes
   * milliseconds.
   */
  private static final Duration ABANDONED = Duration.ofMinutes(1);

  private final Path directory;

  ProcessFiles(Path directory) {
    this.directory = directory.toAbsolutePath().normalize();
  }

  /** Makes the directory, which only its owner can read, since logs may be confidential. */
  void create() {
    try {
      Files.createDirectories(directory);
      Files.setPosixFilePermissions(directory, Mode.PRIVATE_DIRECTORY.permissions());
      AtomicFile.sweep(directory, ABANDONED);
    } catch (IOException e) {
      throw failed("make the process directory", directory, e);
    }
  }

  /**
   * Makes the directory again if it was deleted alone.
   *
   * @return false if the directory above is missing too; it may have been renamed, and a new one
   *     would be in the way of its return
   */
  boolean createAgain() {
    if (!Files.isDirectory(directory.getParent())) {
      return false;
    }
    create();
    return true;
  }

  Path log(String name) {
    return directory.resolve(name + ".log");
  }

  Path tail(String name) {
    return directory.resolve(name + ".tail");
  }

  private Path recordFile(String name) {
    return directory.resolve(name + RECORD);
  }

  Optional<ProcessRecord> read(String name) {
    return read(recordFile(name));
  }

  private Optional<ProcessRecord> read(Path file) {
    try {
      return Optional.of(ProcessRecord.fromJson(Files.readString(file), file))
          .filter(record -> !isCopied(record));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw failed("read process record", file, e);
    }
  }

  /**
   * Returns whether a record came here with a copy of a directory: its process lives and writes its
   * log into the original. The process belongs to the node there.
   */
  private boolean isCopied(ProcessRecord record) {
    if (!record.alive()) {
      return false;
    }
    try {
      Path output = Files.readSymbolicLink(Proc.folder(record.pid()).resolve("fd/1"));
      return output.startsWith("/")
          && output.getFileName().toString().startsWith(record.name() + ".log")
          && Files.exists(output)
          && !Files.isSameFile(output.getParent(), directory);
    } catch (IOException unknown) {
      return false; // it ends, or the kernel does not show it: it counts as this directory's
    }
  }

  List<ProcessRecord> readAll() {
    List<ProcessRecord> records = new ArrayList<>();
    if (!Files.isDirectory(directory)) {
      return records;
    }
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + RECORD)) {
      List<Path> sorted = new ArrayList<>();
      files.forEach(sorted::add);
      sorted.stream().sorted().forEach(file -> read(file).ifPresent(records::add));
    } catch (IOException e) {
      throw failed("list process records in", directory, e);
    }
    return records;
  }

  void write(ProcessRecord record) {
    try {
      replace(recordFile(record.name()), record.toJson(), Durability.POWER_LOSS);
    } catch (IOException e) {
      throw failed("write process record", recordFile(record.name()), e);
    }
  }

  void forget(String name) {
    try {
      Files.deleteIfExists(recordFile(name));
    } catch (IOException e) {
      throw failed("remove process record", recordFile(name), e);
    }
  }

  /**
   * Removes the record of an ended process; on a read-only disk the record stays and is ignored.
   */
  void forgetEnded(String name) {
    try {
      forget(name);
    } catch (ProcessException e) {
      if (DiskTrouble.of(e) != Problem.READ_ONLY) {
        throw e;
      }
    }
  }

  private static ProcessException failed(String what, Path where, IOException failure) {
    return new ProcessException(
        "cannot %s %s: %s; %s"
            .formatted(
                what,
                where,
                DiskTrouble.reason(failure),
                DiskTrouble.remedy(DiskTrouble.of(failure))),
        failure);
  }

  /** Replaces a file in one step; {@code durability} says whether it also survives a power cut. */
  static void replace(Path file, String content, Durability durability) throws IOException {
    AtomicFile.replace(file, content.getBytes(StandardCharsets.UTF_8), Mode.SECRET, durability);
  }

  /** Takes the lock of a name, against other threads and other Java processes. */
  Held lock(String name) throws InterruptedException {
    Path file = directory.resolve(name + ".lock");
    ReentrantLock threads = LOCKS.computeIfAbsent(file, path -> new ReentrantLock());
    threads.lockInterruptibly();
    try {
      FileChannel channel =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock lock = channel.lock();
      return () -> {
        try (channel) {
          lock.release();
        } catch (IOException e) {
          throw new UncheckedIOException("cannot release " + file, e);
        } finally {
          threads.unlock();
        }
      };
    } catch (IOException e) {
      if (DiskTrouble.of(e) == Problem.READ_ONLY) {
        // Without a record no process can start here, so the file lock is not needed.
        return threads::unlock;
      }
      threads.unlock();
      throw failed("lock", file, e);
    }
  }

  /** Is a lock that the thread which took it holds until the close. */
  interface Held extends AutoCloseable {
    @Override
    void close();
  }
}
