package dev.polis.rpc;

import io.grpc.ServerServiceDefinition;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Set;

/** Somebody who serves a service, and the calls it has at present. Guarded by its router's lock. */
final class CallProvider {
  /**
   * The higher ranking wins; among equals the newer one, which is how a bundle is replaced side by
   * side.
   */
  static final Comparator<CallProvider> PREFERENCE =
      Comparator.<CallProvider>comparingInt(provider -> provider.ranking)
          .thenComparingLong(provider -> provider.number);

  final ServerServiceDefinition definition;
  final Set<CallInFlight> calls = new HashSet<>();
  private final int ranking;
  private final long number;

  CallProvider(ServerServiceDefinition definition, int ranking, long number) {
    this.definition = definition;
    this.ranking = ranking;
    this.number = number;
  }

  String service() {
    return definition.getServiceDescriptor().getName();
  }
}
