package dev.polis.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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
   *     written
   * @throws IOException if the lock can not be tried
   */
  static StateLock take(NodeDirectory directory) throws Refusal, IOException {
    FileChannel channel = open(directory);
    if (!lock(channel)) {
      channel.close();
      String holder =
          holder(directory.lock()).map(pid -> "process " + pid).orElse("another process");
      throw new Refusal(
          Exit.RUNNING,
          "a node already runs on "
              + directory.root()
              + ": "
              + holder
              + ". Stop it with \"polis down\", or give another --state",
          null);
    }
    channel.truncate(0);
    channel.write(
        ByteBuffer.wrap(
            (ProcessHandle.current().pid() + "\n").getBytes(StandardCharsets.US_ASCII)));
    return new StateLock(channel);
  }

  private static FileChannel open(NodeDirectory directory) throws Refusal {
    try {
      Files.createDirectories(directory.root());
      return FileChannel.open(
          directory.lock(),
          StandardOpenOption.CREATE,
          StandardOpenOption.READ,
          StandardOpenOption.WRITE);
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
    try (FileChannel channel =
        FileChannel.open(directory.lock(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return lock(channel) ? Optional.empty() : holder(directory.lock()).flatMap(ProcessHandle::of);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  private static boolean lock(FileChannel channel) throws IOException {
    try {
      FileLock lock = channel.tryLock();
      return lock != null;
    } catch (OverlappingFileLockException e) {
      // Held by this very process: as good as by any other.
      return false;
    }
  }

  private static Optional<Long> holder(Path lock) throws IOException {
    String text = Files.readString(lock, StandardCharsets.US_ASCII).strip();
    return text.matches("[0-9]{1,18}") ? Optional.of(Long.valueOf(text)) : Optional.empty();
  }
}
