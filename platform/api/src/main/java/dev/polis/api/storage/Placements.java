package dev.polis.api.storage;

import dev.polis.api.storage.StorageException.Problem;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * What files and directories have in common: temporary names, fsync of directories, failures in
 * words.
 */
final class Placements {

  // 64 random bits: two writers of one file never meet, not even in different processes.
  private static final int SUFFIX_BYTES = 8;
  private static final Pattern TEMPORARY = Pattern.compile("\\..+\\.[0-9a-f]{16}\\.tmp");
  private static final SecureRandom RANDOM = new SecureRandom();

  private Placements() {}

  static Path temporary(Path path) {
    byte[] suffix = new byte[SUFFIX_BYTES];
    RANDOM.nextBytes(suffix);
    return path.resolveSibling(
        "." + path.getFileName() + "." + HexFormat.of().formatHex(suffix) + ".tmp");
  }

  static boolean isTemporary(String name) {
    return TEMPORARY.matcher(name).matches();
  }

  static boolean exists(Path path) throws StorageException {
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return true;
    }
    if (Files.notExists(path, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    throw failed("look for", path, 0, new AccessDeniedException(path.toString()));
  }

  static void createParent(Path path) throws IOException {
    Path parent = path.getParent();
    if (!Files.isDirectory(parent)) {
      Files.createDirectories(
          parent,
          java.nio.file.attribute.PosixFilePermissions.asFileAttribute(
              Mode.PRIVATE_DIRECTORY.permissions()));
    }
  }

  static void syncDirectory(Path directory) throws IOException {
    try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  static StorageException failed(String verb, Path path, long wanted, Throwable cause) {
    String what = "cannot " + verb + " " + path + ": " + reason(cause);
    return switch (problemOf(path, wanted, cause)) {
      case FULL ->
          new StorageException(
              Problem.FULL,
              what + space(path),
              "free some space and try again; the former content is untouched",
              cause);
      case READ_ONLY ->
          new StorageException(
              Problem.READ_ONLY,
              what + ", its file system is mounted read-only",
              "mount it writable (a disk that failed is often remounted read-only: see the kernel log)",
              cause);
      case DENIED ->
          new StorageException(
              Problem.DENIED,
              what + " (this process runs as " + System.getProperty("user.name") + ")",
              "give that user access or choose another state directory",
              cause);
      default ->
          new StorageException(
              Problem.IO, what, "check the disk and the kernel log; nothing was changed", cause);
    };
  }

  private static Problem problemOf(Path path, long wanted, Throwable cause) {
    // The text of an errno depends on the locale, so the file system is asked as well.
    String text = String.valueOf(cause.getMessage());
    if (text.contains("No space left") || text.contains("Disk quota exceeded")) {
      return Problem.FULL;
    }
    if (text.contains("Read-only file system")) {
      return Problem.READ_ONLY;
    }
    if (cause instanceof AccessDeniedException) {
      return Problem.DENIED;
    }
    try {
      FileStore store = Files.getFileStore(existing(path));
      if (store.isReadOnly()) {
        return Problem.READ_ONLY;
      }
      if (wanted > 0 && store.getUsableSpace() < wanted) {
        return Problem.FULL;
      }
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
    return Problem.IO;
  }

  private static String space(Path path) {
    try {
      return " (%d bytes free there)"
          .formatted(Files.getFileStore(existing(path)).getUsableSpace());
    } catch (IOException e) {
      return "";
    }
  }

  private static Path existing(Path path) {
    Path at = path;
    while (at.getParent() != null && !Files.exists(at)) {
      at = at.getParent();
    }
    return at;
  }

  private static String reason(Throwable cause) {
    return cause instanceof AccessDeniedException
        ? "permission denied"
        : cause.getClass().getSimpleName() + ": " + cause.getMessage();
  }
}
