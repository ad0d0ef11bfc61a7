package dev.polis.posix;

/** Options of mount(2), by their values in linux/mount.h. */
public enum MountFlag {
  /** No writes. */
  READ_ONLY(0x1),
  /** Set-user-id bits have no effect. */
  NO_SUID(0x2),
  /** Device files do not work. */
  NO_DEV(0x4),
  /** Programs cannot be run. */
  NO_EXEC(0x8),
  /** Changes the options of what is mounted. */
  REMOUNT(0x20),
  /** Access times are not kept. */
  NO_ATIME(0x400),
  /** Shows a directory at a second place; the source is that directory. */
  BIND(0x1000),
  /** Moves a mount. */
  MOVE(0x2000),
  /** Applies to all mounts below too. */
  RECURSIVE(0x4000),
  /** Mounts and unmounts stay in this namespace. */
  PRIVATE(1 << 18),
  /** Mounts and unmounts are seen by the peers of this mount. */
  SHARED(1 << 20);

  private final long bits;

  MountFlag(long bits) {
    this.bits = bits;
  }

  /** The kernel's number. */
  public long bits() {
    return bits;
  }
}
