package dev.polis.api.storage;

import dev.polis.wire.common.NodeStorageSecurity;
import java.util.Optional;
import java.util.stream.Stream;

/** Lists the protections of the data volume. */
public enum StorageSecurity {
  /** No protection: a plain directory. */
  INSECURE(NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE),
  /** A holder of the disk cannot read it. */
  ENCRYPTED(NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED),
  /** A holder of the disk can neither read it nor change a block unnoticed. */
  AUTHENTICATED_ENCRYPTED(NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED);

  private final NodeStorageSecurity wire;

  StorageSecurity(NodeStorageSecurity wire) {
    this.wire = wire;
  }

  /** Returns the value in messages. */
  public NodeStorageSecurity wire() {
    return wire;
  }

  /** Returns the protection of a message; empty if this version does not know it. */
  public static Optional<StorageSecurity> of(NodeStorageSecurity wire) {
    return Stream.of(values()).filter(each -> each.wire == wire).findFirst();
  }
}
