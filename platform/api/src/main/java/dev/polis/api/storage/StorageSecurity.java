package dev.polis.api.storage;

/** What the data volume promises about bytes at rest. */
public enum StorageSecurity {
  /** Nothing: a plain directory. */
  INSECURE,
  /** Whoever holds the disk cannot read it. */
  ENCRYPTED,
  /** Whoever holds the disk can neither read it nor change a block unnoticed. */
  AUTHENTICATED_ENCRYPTED
}
