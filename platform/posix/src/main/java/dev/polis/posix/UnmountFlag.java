package dev.polis.posix;

/** Options of umount2(2), by their values in sys/mount.h. */
public enum UnmountFlag {
  /** Gives up open files; only some network file systems heed it. */
  FORCE(1),
  /** Takes it away from the tree now, ends it when it is no longer used. */
  DETACH(2),
  /** Does not follow a symbolic link at the target. */
  NO_FOLLOW(8);

  private final int bits;

  UnmountFlag(int bits) {
    this.bits = bits;
  }

  /** The kernel's number. */
  public int bits() {
    return bits;
  }
}
