package dev.polis.rpc;

import io.grpc.ServerServiceDefinition;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Holds one provider of a service and its calls in progress. */
final class CallProvider {
  /**
   * Orders providers: the higher ranking wins, and among equals the newer one, so that a new bundle
   * can replace one that still runs.
   */
  static final Comparator<CallProvider> PREFERENCE =
      Comparator.<CallProvider>comparingInt(provider -> provider.ranking)
          .thenComparingLong(provider -> provider.number);

  final ServerServiceDefinition definition;

  /** Full names of the methods whose handlers never wait. */
  final Set<String> nonBlocking;

  /** Calls join and leave while they hold their router's lock for reading. */
  final Set<CallInFlight> calls = ConcurrentHashMap.newKeySet();

  private final int ranking;
  private final long number;

  CallProvider(
      ServerServiceDefinition definition, Set<String> nonBlocking, int ranking, long number) {
    this.definition = definition;
    this.nonBlocking = Set.copyOf(nonBlocking);
    this.ranking = ranking;
    this.number = number;
  }

  String service() {
    return definition.getServiceDescriptor().getName();
  }
}
