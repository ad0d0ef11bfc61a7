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
 * A pass phrase for programs that take one from a file only: on a tmpfs, so that it never reaches a
 * disk, readable by us alone, and gone with its directory as soon as the program has read it. Its
 * path is the same each time, because it is part of the command line by which a daemon is
 * recognised.
 */
final class VolumeKeyFile implements AutoCloseable {

  private static final List<Path> PLACES = List.of(Path.of("/run"), Path.of("/dev/shm"));

  private final Path path;

  private VolumeKeyFile(Path path) {
    this.path = path;
  }

  /** Returns where the key of a volume is put. Makes nothing. */
  static Path place(String volume) throws FileException {
    for (Path place : PLACES) {
      try {
        if (Files.isWritable(place) && Files.getFileStore(place).type().equals("tmpfs")) {
          return place.resolve("polis-" + volume).resolve("key");
        }
      } catch (IOException e) {
        throw new FileException(
            Problem.IO,
            "cannot tell whether a key may be put in " + place,
            "look at that directory",
            e);
      }
    }
    throw new StorageException(
        Refusal.UNSUPPORTED,
        "no tmpfs we may write to at /run or /dev/shm, so the key would be written to a disk",
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
          "%s is not a directory of user %s alone (owner %s, mode %s), so no key is put there"
              .formatted(
                  directory,
                  System.getProperty("user.name"),
                  attributes.owner().getName(),
                  PosixFilePermissions.toString(attributes.permissions())),
          "find out who made it and remove it");
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

  /** Writes the pass phrase; closing wipes it. */
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
          Problem.IO, "cannot hand over the volume key in " + path, "look at that tmpfs", e);
    } finally {
      Arrays.fill(phrase, (byte) 0);
    }
  }

  /**
   * Overwrites and removes a key with its directory. Does nothing if there is none, or if another
   * user made it: no key is put there, and a link in it may lead to any file of ours.
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
