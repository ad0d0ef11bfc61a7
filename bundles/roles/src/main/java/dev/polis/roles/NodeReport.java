package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.wire.version.Version;
import java.security.SecureRandom;

/**
 * Holds what this node reports of itself and never changes while it runs.
 *
 * @param curatorPort port of the curator listener of every node
 * @param bootId new with each start of this organ
 * @param version of this organ
 */
record NodeReport(int curatorPort, ByteString bootId, Version version) {

  /** Length of a boot id in bytes, as in the wire format. */
  private static final int BOOT_ID_BYTES = 16;

  /** Makes a report with a boot id of its own. */
  static NodeReport of(int curatorPort, Version version) {
    byte[] id = new byte[BOOT_ID_BYTES];
    new SecureRandom().nextBytes(id);
    return new NodeReport(curatorPort, ByteString.copyFrom(id), version);
  }
}
