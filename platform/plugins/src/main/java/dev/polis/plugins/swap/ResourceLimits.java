package dev.polis.plugins.swap;

/**
 * How much more than before a swap the process may use while its successors are judged.
 *
 * @param heap bytes that are alive on the heap after a collection
 * @param metaspace bytes that classes take
 * @param threads platform threads
 */
public record ResourceLimits(long heap, long metaspace, int threads) {
  /** Refuses limits that nothing could keep. */
  public ResourceLimits {
    if (heap < 1 || metaspace < 1 || threads < 1) {
      throw new IllegalArgumentException("a limit below 1 refuses every successor");
    }
  }
}
