package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.wire.version.Version;
import java.security.SecureRandom;

/**
 * Holds the constant part of this node's reports.
 *
 * @param curatorPort the port of each node's curator listener
 * @param bootId the id of this start of the organ
 * @param version the version of this organ
 */
record NodeReport(int curatorPort, ByteString bootId, Version version) {

  /** The length of a boot id in bytes, which the wire format fixes. */
  private static final int BOOT_ID_BYTES = 16;

  /** Makes a report with a new boot id. */
  static NodeReport of(int curatorPort, Version version) {
    byte[] id = new byte[BOOT_ID_BYTES];
    new SecureRandom().nextBytes(id);
    return new NodeReport(curatorPort, ByteString.copyFrom(id), version);
  }
}
