package dev.polis.curator.attest;

import dev.polis.curator.record.Refusal;
import dev.polis.rpc.RpcException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads structures of a TPM or of a firmware from bytes of a stranger. */
final class TpmReader {

  private final String name;
  private final ByteBuffer bytes;

  private TpmReader(String name, byte[] bytes, ByteOrder order) {
    this.name = name;
    this.bytes = ByteBuffer.wrap(bytes).order(order);
  }

  /** Reads a TPM's structure. */
  static TpmReader ofTpm(String name, byte[] bytes) {
    return new TpmReader(name, bytes, ByteOrder.BIG_ENDIAN);
  }

  /** Reads a firmware's structure. */
  static TpmReader ofFirmware(String name, byte[] bytes) {
    return new TpmReader(name, bytes, ByteOrder.LITTLE_ENDIAN);
  }

  int u8() {
    return Byte.toUnsignedInt(take(1)[0]);
  }

  int u16() {
    require(Short.BYTES);
    return Short.toUnsignedInt(bytes.getShort());
  }

  long u32() {
    require(Integer.BYTES);
    return Integer.toUnsignedLong(bytes.getInt());
  }

  byte[] take(long count) {
    require(count);
    byte[] taken = new byte[(int) count];
    bytes.get(taken);
    return taken;
  }

  /** Takes bytes after their number. */
  byte[] sized() {
    return take(u16());
  }

  /** Reads a number that has to be this one. */
  void expect(String field, int wanted) {
    int found = u16();
    if (found != wanted) {
      throw refused("its %s is 0x%04x, and must be 0x%04x", field, found, wanted);
    }
  }

  boolean hasMore() {
    return bytes.hasRemaining();
  }

  /** Refuses bytes after the end of the structure. */
  void end() {
    if (hasMore()) {
      throw refused("%d bytes follow its end", bytes.remaining());
    }
  }

  private void require(long count) {
    if (count > bytes.remaining()) {
      throw refused("it ends after %d bytes, where %d more are announced", bytes.limit(), count);
    }
  }

  /** Makes the refusal of a malformed structure. */
  RpcException refused(String format, Object... values) {
    return Refusal.invalid("attestation: %s: %s", name, format.formatted(values));
  }
}
