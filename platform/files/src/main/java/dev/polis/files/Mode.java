package dev.polis.files;

import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Lists the access rights of declared files and directories. */
public enum Mode {
  /** Keys, tickets and whatever holds one: the node alone. */
  SECRET("rw-------"),
  /** Certificates, names, addresses: everyone may read. */
  PUBLIC("rw-r--r--"),
  /** A directory of the node alone. */
  PRIVATE_DIRECTORY("rwx------"),
  /** A directory that others may pass through, to what they know the name of. */
  PASSABLE_DIRECTORY("rwx--x--x"),
  /** A directory others may list. */
  PUBLIC_DIRECTORY("rwxr-xr-x");

  private final Set<PosixFilePermission> permissions;

  Mode(String permissions) {
    this.permissions = Set.copyOf(PosixFilePermissions.fromString(permissions));
  }

  /** Returns the permissions, whatever the process's umask is. */
  public Set<PosixFilePermission> permissions() {
    return permissions;
  }
}
