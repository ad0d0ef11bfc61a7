package dev.polis.base.posix;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Arrays;

/** Names the kernel errors that this program distinguishes, by their numbers in errno.h. */
public enum Errno {
  /** The user may not do this. */
  EPERM(1),
  /** There is no such file. */
  ENOENT(2),
  /** There is no such process. */
  ESRCH(3),
  /** The device failed. */
  EIO(5),
  /** There is no such device, or nothing is attached to it. */
  ENXIO(6),
  /** There is no such child. */
  ECHILD(10),
  /** There is nothing to read yet. */
  EAGAIN(11),
  /** There is too little memory. */
  ENOMEM(12),
  /** The modes of the file forbid it. */
  EACCES(13),
  /** The file is no block device. */
  ENOTBLK(15),
  /** The object is in use. */
  EBUSY(16),
  /** There is no such device or file system. */
  ENODEV(19),
  /** The file is no directory. */
  ENOTDIR(20),
  /** The file is a directory. */
  EISDIR(21),
  /** The arguments are invalid. */
  EINVAL(22),
  /** The file system is full. */
  ENOSPC(28),
  /** The file system is mounted read-only. */
  EROFS(30),
  /** The name is too long. */
  ENAMETOOLONG(36),
  /** The directory is not empty. */
  ENOTEMPTY(39),
  /** The address or port is in use; for any free port, none is left. */
  EADDRINUSE(98),
  /** The network interface is down. */
  ENETDOWN(100),
  /** The user's share of the file system is used up. */
  EDQUOT(122),
  /** Any other; the message names its number. */
  OTHER(0);

  private final int number;

  Errno(int number) {
    this.number = number;
  }

  static Errno of(int number) {
    return Arrays.stream(values())
        .filter(errno -> errno.number == number)
        .findFirst()
        .orElse(OTHER);
  }

  /**
   * Returns the error of the system behind a failure.
   *
   * @return {@link #OTHER} if it is not in this list
   */
  public static Errno of(IOException failure) {
    return failure instanceof PosixException call ? call.errno() : ofText(reason(failure));
  }

  /** Returns the system's text for a failure, without the path that Java puts before it. */
  public static String reason(IOException failure) {
    return failure instanceof FileSystemException named && named.getReason() != null
        ? named.getReason()
        : String.valueOf(failure.getMessage());
  }

  /**
   * Returns the error that the C library describes with a text. The JDK's exceptions hold these
   * texts in the language of this process, and no number.
   *
   * @return {@link #OTHER} for the text of an error that is not in this list
   */
  public static Errno ofText(String text) {
    return Arrays.stream(values())
        .filter(errno -> errno != OTHER && LibC.describe(errno.number).equals(text))
        .findFirst()
        .orElse(OTHER);
  }

  /** Returns the remedy for a failed call, as an imperative clause. */
  String remedy(String call) {
    return switch (this) {
      case EPERM, EACCES -> "run as root, or with the capability that " + call + "(2) asks for";
      case ENOENT -> "make the missing file or directory first";
      case ENOTDIR -> "give a directory";
      case EBUSY -> "find its users, for instance with \"fuser -vm\"";
      case ENODEV -> "load the kernel module of this file system, see /proc/filesystems";
      case ENOTBLK -> "give a block device as the source";
      case EINVAL -> "check the arguments, or whether the target is mounted at all";
      case ECHILD -> "the process is not a child of the node, or has already been reaped";
      case ENAMETOOLONG -> "give a shorter name";
      case ENOSPC, ENOMEM, EDQUOT -> "free resources or raise the limit";
      default -> "see " + call + "(2)";
    };
  }
}
