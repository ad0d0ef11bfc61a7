package dev.polis.containers;

/**
 * Says how much of a disk is taken, or free.
 *
 * @param bytes in whole blocks, with what the file system needs to find them
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
