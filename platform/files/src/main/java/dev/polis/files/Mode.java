package dev.polis.files;

import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Lists the access rights of declared files and directories. */
public enum Mode {
  /** A file that the node alone reads: a key or a ticket. */
  SECRET("rw-------"),
  /** A file that each account may read: a certificate, a name, an address. */
  PUBLIC("rw-r--r--"),
  /** A directory that the node alone enters. */
  PRIVATE_DIRECTORY("rwx------"),
  /** A directory through which other accounts may pass to known names. */
  PASSABLE_DIRECTORY("rwx--x--x"),
  /** A directory that other accounts may list. */
  PUBLIC_DIRECTORY("rwxr-xr-x");

  private final Set<PosixFilePermission> permissions;

  Mode(String permissions) {
    this.permissions = Set.copyOf(PosixFilePermissions.fromString(permissions));
  }

  /** Returns the permissions, independent of the process's umask. */
  public Set<PosixFilePermission> permissions() {
    return permissions;
  }
}
