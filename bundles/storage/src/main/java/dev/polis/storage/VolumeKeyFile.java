package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Mode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Passes a pass phrase to a program that reads it only from a file. The file is on a tmpfs, so that
 * it never reaches a disk; only the node's user can read it, and the node removes it with its
 * directory as soon as the program has read it. Its path never changes, because the node recognises
 * a daemon by its command line.
 */
final class VolumeKeyFile implements AutoCloseable {

  private static final List<Path> PLACES = List.of(Path.of("/run"), Path.of("/dev/shm"));

  private final Path path;

  private VolumeKeyFile(Path path) {
    this.path = path;
  }

  /** Returns the path for the key of a volume, without making a file. */
  static Path place(String volume) throws FileException {
    return memory().resolve("polis-" + volume).resolve("key");
  }

  /** Returns a writable directory in memory. */
  static Path memory() throws FileException {
    for (Path place : PLACES) {
      try {
        if (Files.isWritable(place) && Files.getFileStore(place).type().equals("tmpfs")) {
          return place;
        }
      } catch (IOException e) {
        throw new FileException(
            Problem.IO,
            "cannot check whether a key is safe in " + place,
            "check that directory",
            e);
      }
    }
    throw new StorageException(
        Refusal.UNSUPPORTED,
        "there is no writable tmpfs at /run or /dev/shm, and the node writes the key to no disk",
        "mount a tmpfs at /dev/shm");
  }

  private static void makeDirectory(Path directory) throws IOException, FileException {
    if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
      Files.createDirectory(
          directory, PosixFilePermissions.asFileAttribute(Mode.PRIVATE_DIRECTORY.permissions()));
    }
    PosixFileAttributes attributes = attributes(directory);
    if (!isOurs(attributes)) {
      throw new FileException(
          Problem.DENIED,
          "%s must belong to user %s alone (owner %s, mode %s), so the node puts no key there"
              .formatted(
                  directory,
                  System.getProperty("user.name"),
                  attributes.owner().getName(),
                  PosixFilePermissions.toString(attributes.permissions())),
          "find out which program made it, then remove it");
    }
  }

  private static PosixFileAttributes attributes(Path directory) throws IOException {
    return Files.readAttributes(directory, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
  }

  private static boolean isOurs(PosixFileAttributes attributes) {
    return attributes.isDirectory()
        && attributes.permissions().equals(Mode.PRIVATE_DIRECTORY.permissions())
        && attributes.owner().getName().equals(System.getProperty("user.name"));
  }

  /** Writes the pass phrase; the close wipes it. */
  static VolumeKeyFile write(Path path, VolumeKey key) throws FileException {
    byte[] phrase = key.passphrase();
    try {
      makeDirectory(path.getParent());
      wipeKey(path);
      try (FileChannel channel =
          FileChannel.open(
              path,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(Mode.SECRET.permissions()))) {
        ByteBuffer rest = ByteBuffer.wrap(phrase);
        while (rest.hasRemaining()) {
          channel.write(rest);
        }
      }
      return new VolumeKeyFile(path);
    } catch (FileException refused) {
      throw refused;
    } catch (IOException e) {
      throw new FileException(
          Problem.IO, "cannot hand over the volume key in " + path, "check that tmpfs", e);
    } finally {
      Arrays.fill(phrase, (byte) 0);
    }
  }

  /**
   * Overwrites and removes a key with its directory. It does nothing if there is none, or if
   * another user made the directory: the node puts no key there, and a link in it may lead to any
   * file of the node.
   */
  static void wipe(Path path) throws IOException {
    Path directory = path.getParent();
    if (Files.exists(directory, LinkOption.NOFOLLOW_LINKS) && isOurs(attributes(directory))) {
      wipeKey(path);
      Files.deleteIfExists(directory);
    }
  }

  private static void wipeKey(Path path) throws IOException {
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      if (Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
        Files.write(path, new byte[Math.toIntExact(Files.size(path))]);
      }
      Files.delete(path);
    }
  }

  @Override
  public void close() throws FileException {
    try {
      wipe(path);
    } catch (IOException e) {
      throw new FileException(
          Problem.IO, "cannot remove the volume key in " + path, "remove that file", e);
    }
  }

  @Override
  public String toString() {
    return path.toString();
  }
}
