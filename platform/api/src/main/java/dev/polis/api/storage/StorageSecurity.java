package dev.polis.api.storage;

/** Lists the protections of the data volume. */
public enum StorageSecurity {
  /** No protection: a plain directory. */
  INSECURE,
  /** A holder of the disk cannot read it. */
  ENCRYPTED,
  /** A holder of the disk can neither read it nor change a block unnoticed. */
  AUTHENTICATED_ENCRYPTED
}
