package dev.polis.containers;

/**
 * Holds an amount of disk, used or free.
 *
 * @param bytes the bytes in whole blocks, with the file system's own data for them
 * @param inodes files, directories, links and devices; a file system may have a fixed number
 */
record DiskSpace(long bytes, long inodes) {

  DiskSpace plus(DiskSpace other) {
    return new DiskSpace(bytes + other.bytes, inodes + other.inodes);
  }

  DiskSpace minus(DiskSpace other) {
    return new DiskSpace(bytes - other.bytes, inodes - other.inodes);
  }

  /** Returns the larger number of each. */
  DiskSpace max(DiskSpace other) {
    return new DiskSpace(Math.max(bytes, other.bytes), Math.max(inodes, other.inodes));
  }
}
