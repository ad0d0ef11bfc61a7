package dev.polis.node;

/**
 * Keeps the exceptions that libraries store from holding the classes of organs.
 *
 * <p>An exception holds the classes on the stack that made it. An organ whose call makes a stored
 * one stays in memory, however often it is replaced, and {@code old-version-held} names it. On the
 * launcher's stack there are no organs.
 */
final class LibraryExceptions {

  /** Switches off the exception that gRPC stores in each channel to show the code that made it. */
  private static final String OF_EACH_CHANNEL = "io.grpc.ManagedChannel.enableAllocationTracking";

  /** Stores one for all channels when it is initialized. */
  private static final String OF_ALL_CHANNELS =
      "io.grpc.internal.ManagedChannelOrphanWrapper$ManagedChannelReference";

  private LibraryExceptions() {}

  /** Makes them on the caller's stack, before the first channel. */
  static void make() {
    System.setProperty(OF_EACH_CHANNEL, Boolean.FALSE.toString());
    try {
      Class.forName(OF_ALL_CHANNELS);
    } catch (ClassNotFoundException absent) {
      // A launcher without organs, or another gRPC, whose swaps LiveClusterIT checks.
      return;
    }
  }
}
