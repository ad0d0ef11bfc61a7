package dev.polis.plugins.swap;

/**
 * Limits the additional use of the process while its successors are judged.
 *
 * @param heap the live bytes on the heap after a collection
 * @param metaspace the bytes of classes
 * @param threads platform threads
 */
public record ResourceLimits(long heap, long metaspace, int threads) {
  /** Refuses limits that no swap could keep. */
  public ResourceLimits {
    if (heap < 1 || metaspace < 1 || threads < 1) {
      throw new IllegalArgumentException("a limit below 1 refuses every successor");
    }
  }
}
