package dev.polis.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Replaces the content of a file in one step: a reader sees the former content or the new one,
 * never a part.
 */
public final class AtomicFile {

  /** Selects whether a replacement survives a loss of power. */
  public enum Durability {
    /** The call forces the file and the directory to the disk before it returns. */
    POWER_LOSS,
    /**
     * The replacement survives the death of this process; a loss of power may restore the former
     * content.
     */
    PROCESS
  }

  // 64 random bits keep apart two writers of one file, also in different processes.
  private static final int SUFFIX_BYTES = 8;
  private static final Pattern TEMPORARY = Pattern.compile("\\..+\\.[0-9a-f]{16}\\.tmp");
  private static final SecureRandom RANDOM = new SecureRandom();

  /** Runs between the write of the temporary file and its rename. */
  @FunctionalInterface
  interface Rename {
    void rename(Path temporary, Path target) throws IOException;
  }

  private AtomicFile() {}

  /**
   * Replaces a file. It makes missing parent directories, accessible to this user alone. After a
   * failure the former content is still there and the temporary file is gone.
   *
   * @throws UnforcedException if the new content is there, but may not survive a loss of power
   */
  public static void replace(Path file, byte[] content, Mode mode, Durability durability)
      throws IOException {
    replace(file, content, mode, durability, AtomicFile::rename);
  }

  static void replace(Path file, byte[] content, Mode mode, Durability durability, Rename rename)
      throws IOException {
    Path temporary = temporary(file);
    try {
      makeDirectory(file.toAbsolutePath().getParent(), Mode.PRIVATE_DIRECTORY, durability);
      write(temporary, content, mode, durability);
      rename.rename(temporary, file);
    } catch (IOException e) {
      try {
        Files.deleteIfExists(temporary);
      } catch (IOException suppressed) {
        e.addSuppressed(suppressed);
      }
      throw e;
    }
    if (durability == Durability.POWER_LOSS) {
      forceEntry(file);
    }
  }

  /**
   * Forces the directory of a path that was made, renamed or removed.
   *
   * @throws UnforcedException if that fails; the change itself was made
   */
  public static void forceEntry(Path changed) throws UnforcedException {
    try {
      force(changed.toAbsolutePath().getParent());
    } catch (IOException e) {
      throw new UnforcedException(changed, e);
    }
  }

  /**
   * Makes a directory and its missing parents, for this user alone; leaves an existing directory
   * unchanged.
   *
   * @param mode the mode of the directory; its parents are private
   * @throws UnforcedException if a directory was made, but may not survive a loss of power
   */
  public static void makeDirectory(Path directory, Mode mode, Durability durability)
      throws IOException {
    if (Files.isDirectory(directory)) {
      return;
    }
    Path parent = directory.toAbsolutePath().getParent();
    if (parent != null) {
      makeDirectory(parent, Mode.PRIVATE_DIRECTORY, durability);
    }
    try {
      Files.createDirectory(
          directory, PosixFilePermissions.asFileAttribute(Mode.PRIVATE_DIRECTORY.permissions()));
    } catch (FileAlreadyExistsException e) {
      if (isDirectory(directory, e)) {
        return; // Another thread made it.
      }
      throw e;
    }
    Files.setPosixFilePermissions(directory, mode.permissions());
    if (durability == Durability.POWER_LOSS) {
      forceEntry(directory);
    }
  }

  /** Throws what the disk reports, since a directory that cannot be read is nothing else. */
  private static boolean isDirectory(Path existing, FileAlreadyExistsException found)
      throws IOException {
    try {
      return Files.readAttributes(existing, BasicFileAttributes.class).isDirectory();
    } catch (NoSuchFileException linkToNothing) {
      throw found;
    }
  }

  /**
   * Removes from a directory the permissions that its mode lacks, which a wide umask or an earlier
   * version may have left. The permission of other accounts to pass stays, since {@link
   * DirectoryPlacement#letOthersPass} may have set it.
   */
  static void tighten(Path directory, Mode mode) throws IOException {
    Set<PosixFilePermission> allowed = EnumSet.copyOf(mode.permissions());
    allowed.add(PosixFilePermission.OTHERS_EXECUTE);
    Set<PosixFilePermission> kept = EnumSet.copyOf(Files.getPosixFilePermissions(directory));
    if (kept.retainAll(allowed)) {
      Files.setPosixFilePermissions(directory, kept);
    }
  }

  static void rename(Path temporary, Path file) throws IOException {
    Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
  }

  private static void write(Path temporary, byte[] content, Mode mode, Durability durability)
      throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            temporary,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(Mode.SECRET.permissions()))) {
      ByteBuffer rest = ByteBuffer.wrap(content);
      while (rest.hasRemaining()) {
        channel.write(rest);
      }
      Files.setPosixFilePermissions(temporary, mode.permissions());
      if (durability == Durability.POWER_LOSS) {
        channel.force(true);
      }
    }
  }

  /** Forces a file's content, or a directory's entries, to the disk. */
  public static void force(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /**
   * Removes the temporary files that interrupted replacements left in a directory.
   *
   * @param age the age below which files stay; zero removes all, if no other writer is working
   * @return the number of removed files
   */
  public static int sweep(Path directory, Duration age) throws IOException {
    FileTime limit = FileTime.from(Instant.now().minus(age));
    int removed = 0;
    try (DirectoryStream<Path> entries =
        Files.newDirectoryStream(directory, AtomicFile::isTemporary)) {
      for (Path left : entries) {
        if (Files.getLastModifiedTime(left).compareTo(limit) <= 0 && Files.deleteIfExists(left)) {
          removed++;
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return removed;
  }

  private static boolean isTemporary(Path file) {
    return TEMPORARY.matcher(file.getFileName().toString()).matches()
        && Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS);
  }

  private static Path temporary(Path file) {
    byte[] suffix = new byte[SUFFIX_BYTES];
    RANDOM.nextBytes(suffix);
    return file.resolveSibling(
        "." + file.getFileName() + "." + HexFormat.of().formatHex(suffix) + ".tmp");
  }
}
