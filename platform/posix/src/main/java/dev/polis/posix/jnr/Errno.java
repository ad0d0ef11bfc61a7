package dev.polis.posix.jnr;

/** What an error of the kernel means for the person who reads it. */
final class Errno {
  private Errno() {}

  static String remedy(String errno, String call) {
    return switch (errno) {
      case "EPERM", "EACCES" -> "run as root, or with the capability that " + call + "(2) asks for";
      case "ENOENT" -> "make the missing file or directory first";
      case "ENOTDIR" -> "give a directory";
      case "EBUSY" -> "find who uses it, for instance in /proc/*/mountinfo and /proc/*/fd";
      case "ENODEV" -> "load the kernel module of this file system, see /proc/filesystems";
      case "ENOTBLK" -> "give a block device as the source";
      case "EINVAL" -> "check the arguments, or whether the target is mounted at all";
      case "ECHILD" -> "the process is no child of ours or was collected already";
      case "ENAMETOOLONG" -> "give a shorter name";
      case "ENOSPC", "ENOMEM" -> "free resources or raise the limit";
      default -> "see " + call + "(2)";
    };
  }
}
