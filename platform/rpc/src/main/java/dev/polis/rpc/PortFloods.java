package dev.polis.rpc;

import dev.polis.logtree.Log;
import java.util.function.IntSupplier;

/** Watches a port for both kinds of floods: of connections, and of calls by strangers. */
final class PortFloods {
  private final FloodWatch connections;
  private final FloodWatch calls;

  /** Creates a watch over the connections and calls that a gate turns away. */
  PortFloods(String name, ConnectionGate gate, IntSupplier port) {
    this.connections =
        new FloodWatch(
            name,
            "connections are opened than the node allows: it has closed %d",
            gate.connections(),
            port);
    this.calls =
        new FloodWatch(
            name,
            "calls are begun without a certificate of the cluster than the node allows: it has refused or ended %d",
            gate.calls(),
            port);
  }

  /** Looks once; returns whether a flood begins or ends. */
  boolean look(Log log) {
    return connections.look(log) | calls.look(log);
  }

  boolean isFlooded() {
    return !connections().isEmpty() || !calls().isEmpty();
  }

  /** Returns the description of a flood of connections; empty if there is none. */
  String connections() {
    return connections.words();
  }

  /** Returns the description of a flood of calls; empty if there is none. */
  String calls() {
    return calls.words();
  }
}
