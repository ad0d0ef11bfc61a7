package dev.polis.node;

import dev.polis.base.posix.Machine;
import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException.Problem;
import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

/**
 * Lets one process at a time use a state directory. The kernel gives the lock back when the process
 * dies, however it dies.
 */
final class StateLock implements AutoCloseable {
  private final FileChannel channel;

  private StateLock(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * @param directory the state directory; it is created
   * @return the lock
   * @throws Refusal if another process holds it, with its process id, or the directory can not be
   *     written, or by other users too
   * @throws IOException if the lock can not be tried
   */
  static StateLock take(NodeDirectory directory) throws Refusal, IOException {
    requireOwn(directory.root());
    return takeAlone(directory);
  }

  /** Refuses a directory in which another user may have laid links to files of this one. */
  private static void requireOwn(Path root) throws Refusal, IOException {
    if (!Files.isDirectory(root)) {
      return; // It is made, or refused for what it is.
    }
    PosixFileAttributes attributes = Files.readAttributes(root, PosixFileAttributes.class);
    if (!Files.getAttribute(root, "unix:uid").equals(Machine.effectiveUser())
        || attributes.permissions().contains(PosixFilePermission.OTHERS_WRITE)) {
      throw new Refusal(
          "the state directory %1$s can not be written by user %2$s alone: it belongs to user %3$s and has mode %4$s; give it to the first with chown -R %2$s %1$s and chmod 700 %1$s, or give another --state"
              .formatted(
                  root,
                  System.getProperty("user.name"),
                  attributes.owner().getName(),
                  PosixFilePermissions.toString(attributes.permissions())));
    }
  }

  private static StateLock takeAlone(NodeDirectory directory) throws Refusal, IOException {
    FileChannel channel = open(directory);
    if (!lock(channel, false)) {
      channel.close();
      String holder =
          holder(directory.lock()).map(pid -> "process " + pid).orElse("another process");
      throw new Refusal(
          Exit.RUNNING,
          "a node already runs on "
              + directory.root()
              + ": "
              + holder
              + holder(directory.lock())
                  .flatMap(pid -> new HungProcess(directory, pid).words())
                  .map(words -> ", but " + words)
                  .orElse("")
              + ". Stop it with \"polis down --state "
              + directory.root()
              + "\", or give another --state",
          null);
    }
    try {
      channel.truncate(0);
      channel.write(
          ByteBuffer.wrap(
              (ProcessHandle.current().pid() + "\n").getBytes(StandardCharsets.US_ASCII)));
    } catch (IOException full) {
      channel.close();
      throw full;
    }
    return new StateLock(channel);
  }

  /**
   * Keeps nodes away while their state directory is cleared away: where nothing can be written,
   * too.
   *
   * @throws Refusal if a node runs there
   * @throws IOException if the lock can not be tried
   */
  static StateLock takeToClear(NodeDirectory directory) throws Refusal, IOException {
    try {
      return takeAlone(directory);
    } catch (IOException e) {
      return shared(directory, e);
    } catch (Refusal e) {
      if (e.exitCode() == Exit.RUNNING || !(e.getCause() instanceof IOException disk)) {
        throw e;
      }
      return shared(directory, disk);
    }
  }

  /** Takes the lock without a word of who holds it. A node needs it alone, and could not start. */
  private static StateLock shared(NodeDirectory directory, IOException disk)
      throws Refusal, IOException {
    if (DiskTrouble.of(disk) == Problem.IO) {
      throw disk;
    }
    FileChannel channel = FileChannel.open(directory.lock(), StandardOpenOption.READ);
    if (!lock(channel, true)) {
      channel.close();
      throw new Refusal(
          Exit.RUNNING,
          "a node was started on " + directory.root() + " meanwhile; stop again",
          disk);
    }
    return new StateLock(channel);
  }

  private static FileChannel open(NodeDirectory directory) throws Refusal {
    try {
      Files.createDirectories(directory.root());
      return FileChannel.open(
          directory.lock(),
          StandardOpenOption.CREATE,
          StandardOpenOption.READ,
          StandardOpenOption.WRITE,
          LinkOption.NOFOLLOW_LINKS);
    } catch (FileAlreadyExistsException e) {
      throw new Refusal(
          "the state directory " + e.getFile() + " is a file; give another --state", e);
    } catch (IOException e) {
      throw new Refusal(
          "the state directory %s can not be written by user %s (%s); give it to that user, or give another --state"
              .formatted(directory.root(), System.getProperty("user.name"), e),
          e);
    }
  }

  /**
   * @param directory a state directory, which need not exist
   * @return the process that runs a node on it now
   * @throws IOException if the lock can not be tried
   */
  static Optional<ProcessHandle> running(NodeDirectory directory) throws IOException {
    if (!Files.exists(directory.lock())) {
      return Optional.empty();
    }
    // A shared lock takes no right to write, and a node holds it alone.
    try (FileChannel channel = FileChannel.open(directory.lock(), StandardOpenOption.READ)) {
      return lock(channel, true)
          ? Optional.empty()
          : holder(directory.lock()).flatMap(ProcessHandle::of);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  private static boolean lock(FileChannel channel, boolean shared) throws IOException {
    try {
      FileLock lock = channel.tryLock(0, Long.MAX_VALUE, shared);
      return lock != null;
    } catch (OverlappingFileLockException e) {
      // Held by this very process: as good as by any other.
      return false;
    }
  }

  private static Optional<Long> holder(Path lock) throws IOException {
    String text = Files.readString(lock, StandardCharsets.US_ASCII).strip();
    return text.matches("[0-9]{1,18}")
        ? Optional.of(Long.valueOf(text)).filter(pid -> isOpen(lock, pid))
        : Optional.empty();
  }

  /**
   * Returns whether a process has the lock open. The file names the former holder until the next
   * one has written its own number, and the former number may belong to any process by then.
   */
  private static boolean isOpen(Path lock, long pid) {
    try (DirectoryStream<Path> open =
        Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "fd"))) {
      for (Path each : open) {
        if (isSame(each, lock)) {
          return true;
        }
      }
      return false;
    } catch (AccessDeniedException e) {
      return true; // The process of another user, to which this one cannot send a signal.
    } catch (IOException | DirectoryIteratorException gone) {
      return false;
    }
  }

  /** Compares the files, since another mount of the state directory has other paths. */
  private static boolean isSame(Path descriptor, Path lock) {
    try {
      return Files.isSameFile(descriptor, lock);
    } catch (IOException closedMeanwhile) {
      return false;
    }
  }
}
