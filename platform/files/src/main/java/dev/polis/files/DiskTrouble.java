package dev.polis.files;

import dev.polis.base.boot.FailureText;
import dev.polis.base.posix.Errno;
import dev.polis.base.posix.FileSystems;
import dev.polis.files.FileException.Problem;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.ReadOnlyFileSystemException;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/**
 * Recognises from a failure that a disk is full, read-only or not accessible.
 *
 * <p>The JDK's exceptions have the system's error only as text, in the language of the process. So
 * this class compares the text with the C library's text for each error.
 */
public final class DiskTrouble {

  /** The system's errors for a file in place of a directory, and the reverse. */
  private static final Set<Errno> OF_ANOTHER_KIND =
      EnumSet.of(Errno.ENOTDIR, Errno.EISDIR, Errno.ENOTEMPTY);

  private DiskTrouble() {}

  /** Returns FULL, READ_ONLY or DENIED if one of these caused the failure, and IO otherwise. */
  public static Problem of(Throwable failure) {
    for (Throwable at : FailureText.causes(failure)) {
      if (at instanceof FileException known) {
        return known.problem();
      }
      Problem found = ofOne(at);
      if (found != Problem.IO) {
        return found;
      }
    }
    return Problem.IO;
  }

  private static Problem ofOne(Throwable failure) {
    if (failure instanceof AccessDeniedException) {
      return Problem.DENIED;
    }
    if (failure instanceof ReadOnlyFileSystemException) {
      return Problem.READ_ONLY;
    }
    return failure instanceof IOException disk
        ? switch (Errno.of(disk)) {
          case ENOSPC, EDQUOT -> Problem.FULL;
          case EROFS -> Problem.READ_ONLY;
          case EACCES -> Problem.DENIED;
          default -> Problem.IO;
        }
        : Problem.IO;
  }

  /** Returns the system's text for a failure, without Java's path before it. */
  public static String reason(IOException failure) {
    return Errno.reason(failure);
  }

  /** Returns the path in a failure, if there is one. */
  public static Optional<Path> place(Throwable failure) {
    for (Throwable at : FailureText.causes(failure)) {
      if (at instanceof FileSystemException named && named.getFile() != null) {
        return Optional.of(Path.of(named.getFile()));
      }
    }
    return Optional.empty();
  }

  /** Returns the remedy for a problem of a disk, as an imperative clause. */
  public static String remedy(Problem problem) {
    return switch (problem) {
      case FULL -> "free some space there";
      case READ_ONLY -> "mount it writable";
      case DENIED -> "give the user " + System.getProperty("user.name") + " access";
      default -> "check the file and its disk";
    };
  }

  /**
   * Returns the exception for a failed operation on a path.
   *
   * @param verb the operation, as an infinitive: {@code write}
   * @param wanted the number of bytes to write
   */
  static FileException failed(String verb, Path path, long wanted, Throwable cause) {
    String kept =
        cause instanceof UnforcedException
            ? "the change was made, but a loss of power may undo it"
            : "nothing was changed";
    return failed(verb, path, wanted, kept, cause);
  }

  /** Returns the exception for a failed operation that changes a file step by step. */
  static FileException failedMidway(String verb, Path path, Throwable cause) {
    return failed(verb, path, 0, "its content may be changed in part", cause);
  }

  private static FileException failed(
      String verb, Path path, long wanted, String kept, Throwable cause) {
    String what = "cannot " + verb + " " + path + ": " + words(cause);
    Problem problem = of(cause);
    if (problem == Problem.IO) {
      problem = otherThanExpected(cause, path);
    }
    if (problem == Problem.IO) {
      problem = askedOfFileSystem(path, wanted, cause);
    }
    return switch (problem) {
      case FULL ->
          new FileException(
              problem, what + space(path), room(path) + " and try again; " + kept, cause);
      case READ_ONLY ->
          new FileException(
              problem,
              what + ", its file system is mounted read-only",
              "mount it writable (if the kernel refuses that, it has found an error, which dmesg shows: unmount it, and repair it with fsck); "
                  + kept,
              cause);
      case DENIED ->
          new FileException(
              problem,
              what + " (this process runs as " + System.getProperty("user.name") + ")",
              "give that user access or choose another state directory; " + kept,
              cause);
      case OCCUPIED -> new FileException(problem, what, "move what is there aside; " + kept, cause);
      case ABSENT ->
          new FileException(
              problem, what, "make it, or remove the link that leads there; " + kept, cause);
      default -> new FileException(Problem.IO, what, otherRemedy(path, cause) + "; " + kept, cause);
    };
  }

  /** Returns the remedy for a refusal, which is no fault of a disk, or for any other failure. */
  private static String otherRemedy(Path path, Throwable cause) {
    return cause instanceof IOException refused && Errno.of(refused) == Errno.EPERM
        ? "see with lsattr -d %s %s whether one of them is immutable or append-only, which chattr -i and chattr -a end; if none is, the user %s lacks a right of root"
            .formatted(path.toAbsolutePath().getParent(), path, System.getProperty("user.name"))
        : "check the disk and the kernel log";
  }

  /**
   * Asks the file system for its state. Some user-space file systems report EIO for each failure,
   * but their free space and mount options are right.
   */
  private static Problem askedOfFileSystem(Path path, long wanted, Throwable cause) {
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
      return holdsNoMoreFiles(path)
          ? " (its file system can hold no more files, of any size)"
          : " (%d bytes free there)".formatted(Files.getFileStore(existing(path)).getUsableSpace());
    } catch (IOException e) {
      return "";
    }
  }

  private static String room(Path path) {
    try {
      return holdsNoMoreFiles(path)
          ? "delete files there (df -i %s counts them)".formatted(existing(path))
          : "free some space";
    } catch (IOException e) {
      return "free some space";
    }
  }

  private static boolean holdsNoMoreFiles(Path path) throws IOException {
    return FileSystems.freeFiles(existing(path)).orElse(1) == 0;
  }

  private static Path existing(Path path) {
    Path at = path;
    while (at.getParent() != null && !Files.exists(at)) {
      at = at.getParent();
    }
    return at;
  }

  /** Returns OCCUPIED if another object is at a path, ABSENT if the path is free, and else IO. */
  private static Problem otherThanExpected(Throwable cause, Path path) {
    if (cause instanceof FileAlreadyExistsException
        || cause instanceof NotDirectoryException
        || cause instanceof IOException disk && OF_ANOTHER_KIND.contains(Errno.of(disk))) {
      return Files.isSymbolicLink(path) && !Files.exists(path) ? Problem.ABSENT : Problem.OCCUPIED;
    }
    return cause instanceof NoSuchFileException ? Problem.ABSENT : Problem.IO;
  }

  /**
   * Returns a text for a failure of the system, whose own message may be only a path.
   *
   * @return a text, without the JDK's class name for a known failure
   */
  public static String words(Throwable cause) {
    return switch (cause) {
      case AccessDeniedException denied -> "permission denied";
      case FileAlreadyExistsException other -> "something else is there: " + other.getFile();
      case NotDirectoryException file -> file.getFile() + " is no directory";
      case NoSuchFileException absent -> absence(Path.of(absent.getFile()));
      case FileSystemException told when told.getReason() != null ->
          told.getFile() + ": " + told.getReason();
      default -> cause.getClass().getSimpleName() + ": " + cause.getMessage();
    };
  }

  private static String absence(Path path) {
    try {
      return Files.isSymbolicLink(path)
          ? "%s is a link to %s, which is not there".formatted(path, Files.readSymbolicLink(path))
          : path + " is not there";
    } catch (IOException unreadable) {
      return path + " is not there";
    }
  }
}
