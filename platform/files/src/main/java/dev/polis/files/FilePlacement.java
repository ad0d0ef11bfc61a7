package dev.polis.files;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Declares a file, reads it and replaces it. A write replaces the whole content: a reader sees the
 * former content or the new one, and after the return of {@link #write} a power loss does not
 * restore the former one. Thread-safe; if two threads write at the same time, one wins. On a
 * user-space file system, a program that opens the path itself may find no file during a
 * replacement.
 */
@ProviderType
public final class FilePlacement {

  /** The number of zeros in one write, so that a database needs no memory of its size. */
  private static final int ZEROS_BYTES = 64 * 1024;

  private final Path path;
  private final Mode mode;

  /** The owner's account number; negative for the user of this process. */
  private volatile int account = -1;

  // On a user-space file system (gocryptfs) a rename is not atomic for a concurrent reader: the
  // kernel still asks for the former file, which has no name any more, and reports ENOENT.
  private final ReadWriteLock renaming = new ReentrantReadWriteLock();

  FilePlacement(Path path, Mode mode) {
    this.path = path;
    this.mode = mode;
  }

  /**
   * Returns the absolute path, for programs that need one. The node's own code reads and writes
   * through this object.
   */
  public Path path() {
    return path;
  }

  /** Returns the access mode. */
  public Mode mode() {
    return mode;
  }

  /** Returns whether the file exists; throws if this is unknown. */
  public boolean exists() throws FileException {
    renaming.readLock().lock();
    try {
      return DirectoryPlacement.exists(path);
    } finally {
      renaming.readLock().unlock();
    }
  }

  public Stored<byte[]> read() {
    renaming.readLock().lock();
    try {
      if (Files.readAttributes(path, BasicFileAttributes.class).isOther()) {
        // Opening a pipe waits for a process that writes there.
        throw new FileAlreadyExistsException(path.toString());
      }
      return new Stored.Present<>(path, Files.readAllBytes(path));
    } catch (NoSuchFileException e) {
      return new Stored.None<>(path);
    } catch (IOException | OutOfMemoryError e) {
      FileException cause = DiskTrouble.failed("read", path, 0, e);
      return new Stored.Unreadable<>(path, cause.getMessage(), cause);
    } finally {
      renaming.readLock().unlock();
    }
  }

  /**
   * Returns the content as a protobuf message. An empty file counts as corrupted: no stored message
   * is empty, and a truncated file would otherwise parse as one.
   */
  public <M extends MessageLite> Stored<M> read(Parser<M> parser) {
    return read().map(bytes -> MessageParser.parse(parser, bytes));
  }

  /** Replaces the content by a message. */
  public void write(MessageLite message) throws FileException {
    write(message.toByteArray());
  }

  /**
   * Replaces the content: it writes and forces a temporary file, renames it, and forces the
   * directory, which it makes if missing. After a failure, the message states whether the former
   * content is still there; the temporary file is gone.
   */
  public void write(byte[] content) throws FileException {
    try {
      AtomicFile.replace(
          path,
          content,
          mode,
          AtomicFile.Durability.POWER_LOSS,
          (temporary, target) -> rename(temporary));
    } catch (IOException e) {
      throw DiskTrouble.failed("write", path, content.length, e);
    }
  }

  /**
   * Gives the file, and each later version of it, to an account of the machine. Only root can do
   * that. The directory stays the node's, so that no other account puts a link there.
   *
   * @param account its number, which is also the number of its group
   */
  public void giveTo(int account) throws FileException {
    this.account = account;
    renaming.readLock().lock();
    try {
      if (DirectoryPlacement.exists(path)) {
        Ownership.give(path, account);
        if (!Files.getPosixFilePermissions(path).equals(mode.permissions())) {
          Files.setPosixFilePermissions(path, mode.permissions());
        }
      }
    } catch (IOException e) {
      throw DiskTrouble.failed("change the owner of", path, 0, e);
    } finally {
      renaming.readLock().unlock();
    }
  }

  /**
   * Returns whether the file belongs to an account of the machine.
   *
   * @param account its number
   */
  public boolean isOf(int account) throws FileException {
    try {
      return Ownership.isOf(path, account);
    } catch (IOException e) {
      throw DiskTrouble.failed("look at the owner of", path, 0, e);
    }
  }

  private void rename(Path temporary) throws IOException {
    if (account >= 0) {
      Ownership.give(temporary, account);
    }
    renaming.writeLock().lock();
    try {
      AtomicFile.rename(temporary, path);
    } finally {
      renaming.writeLock().unlock();
    }
  }

  /** Removes the file for good; does nothing if it does not exist. */
  public void delete() throws FileException {
    try {
      if (Files.deleteIfExists(path)) {
        AtomicFile.forceEntry(path);
      }
    } catch (IOException e) {
      throw DiskTrouble.failed("delete", path, 0, e);
    }
  }

  /**
   * Overwrites the content with zeros before it removes the file. On a disk that writes each block
   * to a new place (flash, copy-on-write) the former content may survive in the device, but no file
   * shows it.
   */
  public void erase() throws FileException {
    if (!exists()) {
      return;
    }
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      zero(channel);
    } catch (IOException e) {
      throw DiskTrouble.failedMidway("erase", path, e);
    }
    delete();
  }

  /**
   * Replaces the content as {@link #write} does, then overwrites the former content with zeros. It
   * serves for secrets: a replaced file is only removed, and a reader of the disk finds it.
   */
  public void replaceErasing(byte[] content) throws FileException {
    if (!exists()) {
      write(content);
      return;
    }
    FileChannel former = openFormer();
    try (former) {
      write(content);
      zero(former);
    } catch (FileException e) {
      throw e;
    } catch (IOException e) {
      throw DiskTrouble.failedMidway("erase the former content of", path, e);
    }
  }

  private FileChannel openFormer() throws FileException {
    try {
      return FileChannel.open(path, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw DiskTrouble.failed("replace", path, 0, e);
    }
  }

  /** Overwrites a file, also one without a name, before its blocks get free. */
  static void zero(FileChannel channel) throws IOException {
    long left = channel.size();
    ByteBuffer zeros = ByteBuffer.allocate((int) Math.min(left, ZEROS_BYTES));
    while (left > 0) {
      zeros.clear().limit((int) Math.min(left, ZEROS_BYTES));
      left -= channel.write(zeros);
    }
    channel.force(true);
  }

  @Override
  public String toString() {
    return path.toString();
  }
}
