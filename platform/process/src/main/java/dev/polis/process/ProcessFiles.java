package dev.polis.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The files of a directory of processes: NAME.json, NAME.log, NAME.log.1, NAME.tail and NAME.lock
 * for each.
 */
final class ProcessFiles {
  /** File locks are per Java process, so threads of this one need a lock of their own. */
  private static final Map<Path, ReentrantLock> LOCKS = new ConcurrentHashMap<>();

  private static final String RECORD = ".json";

  private final Path directory;

  ProcessFiles(Path directory) {
    this.directory = directory.toAbsolutePath().normalize();
  }

  /**
   * Makes the directory, readable by its owner alone: logs may tell more than strangers should
   * know.
   */
  void create() {
    try {
      Files.createDirectories(directory);
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    } catch (IOException e) {
      throw failed("make the process directory", directory, e);
    }
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

  private static Optional<ProcessRecord> read(Path file) {
    try {
      return Optional.of(ProcessRecord.fromJson(Files.readString(file), file));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw failed("read process record", file, e);
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
      replace(recordFile(record.name()), record.toJson(), true);
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

  private static ProcessException failed(String what, Path where, IOException failure) {
    String why =
        failure instanceof FileSystemException named && named.getReason() != null
            ? named.getReason()
            : String.valueOf(failure.getMessage());
    return new ProcessException(
        "cannot %s %s: %s; %s".formatted(what, where, why, remedy(why)), failure);
  }

  /** These are the system's words; the script that starts a node asks for them in English. */
  private static String remedy(String why) {
    return switch (why) {
      case "No space left on device", "Disk quota exceeded" -> "free some space there";
      case "Read-only file system" -> "mount it writable";
      default -> "check the file and its disk";
    };
  }

  /**
   * Replaces a file by writing beside it and renaming; {@code durable} also survives a power cut.
   */
  static void replace(Path file, String content, boolean durable) throws IOException {
    Path next = file.resolveSibling(file.getFileName() + ".new");
    try (FileChannel channel =
        FileChannel.open(
            next,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      ByteBuffer bytes = ByteBuffer.wrap(content.getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      if (durable) {
        channel.force(true);
      }
    }
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    if (durable) {
      try (FileChannel parent = FileChannel.open(file.getParent(), StandardOpenOption.READ)) {
        parent.force(true);
      }
    }
  }

  /** Takes the lock of a name against other threads and other Java processes. */
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
      threads.unlock();
      throw failed("lock", file, e);
    }
  }

  /** A lock that is held until closed, by the thread that took it. */
  interface Held extends AutoCloseable {
    @Override
    void close();
  }
}
