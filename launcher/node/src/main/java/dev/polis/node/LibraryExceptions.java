package dev.polis.node;

import java.util.List;

/**
 * Keeps the exceptions that libraries store from holding the classes of organs.
 *
 * <p>An exception holds the classes on the stack that made it. An organ whose call makes a stored
 * one stays in memory, however often it is replaced, and {@code old-version-held} names it. On the
 * launcher's stack there are no organs.
 */
final class LibraryExceptions {

  /** Tells gRPC not to store who has made a channel, in an exception of each channel. */
  private static final String MAKERS = "io.grpc.ManagedChannel.enableAllocationTracking";

  /** The classes that store one for ever, here that of a channel whose maker is unknown. */
  private static final List<String> KEEPERS =
      List.of("io.grpc.internal.ManagedChannelOrphanWrapper$ManagedChannelReference");

  private LibraryExceptions() {}

  /** Initializes those classes, as far as the class path has them. */
  static void make() {
    System.setProperty(MAKERS, Boolean.FALSE.toString());
    for (String keeper : KEEPERS) {
      try {
        Class.forName(keeper);
      } catch (ClassNotFoundException absent) {
        // A launcher without organs, or another gRPC, whose swaps LiveClusterIT checks.
        continue;
      }
    }
  }
}
