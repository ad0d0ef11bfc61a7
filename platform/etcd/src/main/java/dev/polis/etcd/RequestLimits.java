package dev.polis.etcd;

import com.google.protobuf.MessageLite;
import java.util.Collection;
import java.util.function.Supplier;

/**
 * Refuses requests that are too large for etcd before they are sent, so that they cost etcd nothing
 * and the caller learns the size and the limit.
 */
final class RequestLimits {

  /**
   * The largest request: etcd's default of {@code --max-request-bytes}, 1.5 MiB, less 4 KiB for
   * etcd's own header.
   */
  static final int MOST_BYTES = (3 << 19) - (4 << 10);

  /** The most steps of a transaction: etcd's default of {@code --max-txn-ops}. */
  static final int MOST_STEPS = 128;

  private RequestLimits() {}

  /**
   * Checks the size of a write request.
   *
   * @throws EtcdRefusedException if etcd would refuse it
   */
  static void requireSize(MessageLite request, Supplier<String> what) {
    int size = request.getSerializedSize();
    if (size > MOST_BYTES) {
      throw new EtcdRefusedException(
          "%s has %d bytes, etcd takes at most %d; nothing was sent, store less at once"
              .formatted(what.get(), size, MOST_BYTES),
          EtcdError.OTHER,
          null);
    }
  }

  /**
   * Checks the number of conditions and steps of a transaction.
   *
   * @throws EtcdRefusedException if etcd would refuse it
   */
  static void requireCount(Collection<?>... parts) {
    for (Collection<?> part : parts) {
      if (part.size() > MOST_STEPS) {
        throw new EtcdRefusedException(
            "a transaction has %d conditions or steps of one kind, etcd takes at most %d; nothing was sent, use several transactions"
                .formatted(part.size(), MOST_STEPS),
            EtcdError.OTHER,
            null);
      }
    }
  }
}
