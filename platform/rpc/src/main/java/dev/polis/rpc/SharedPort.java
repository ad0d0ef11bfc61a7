package dev.polis.rpc;

import dev.polis.logtree.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Keeps one port open for its tenants. While one instance of an organ replaces another, both are
 * tenants of the port for a moment: the newest gets all requests, and the port closes after the
 * last one.
 *
 * <p>This class knows all ports of the process. One lock guards them all, since they are few and
 * seldom change.
 */
abstract class SharedPort {

  /** The time in which the requests of a leaving tenant may end. */
  private static final Duration DRAIN = Duration.ofSeconds(2);

  private static final Map<InetSocketAddress, SharedPort> OPEN = new HashMap<>();

  /** Opens a port without a tenant. */
  @FunctionalInterface
  interface Opening {
    SharedPort open() throws IOException;
  }

  private final String pid;
  private final ConnectionGate gate = new ConnectionGate(StrangerRoom.ofProcess());
  private final PortFloods floods;
  // Guarded by OPEN.
  private final List<PortTenant> tenants = new ArrayList<>();
  private long arrivals;
  private boolean closed;

  SharedPort(String pid) {
    this.pid = pid;
    this.floods = new PortFloods(pid, gate, () -> address().getPort());
  }

  /** Returns the address of the port. */
  abstract InetSocketAddress address();

  /** Returns the gate that decides about the port's connections. */
  final ConnectionGate gate() {
    return gate;
  }

  /** Counts the connections of all ports. */
  static Stream<RpcStatistics.Port> statistics() {
    return open().stream().map(port -> port.gate.statistics(port.pid));
  }

  /** Looks for floods at all ports; returns whether one begins or ends. */
  static boolean lookForFloods(Log log) {
    boolean changed = false;
    for (SharedPort port : open()) {
      changed |= port.floods.look(log);
    }
    return changed;
  }

  /** Returns the status of the flooded ports. */
  static Stream<RpcListenerStatus> flooded() {
    return open().stream()
        .filter(port -> port.floods.isFlooded())
        .map(
            port ->
                new RpcListenerStatus(
                    port.pid,
                    "%s:%d"
                        .formatted(
                            port.address().getAddress().getHostAddress(), port.address().getPort()),
                    true,
                    "",
                    port.floods.connections(),
                    port.floods.calls(),
                    List.of(),
                    List.of()));
  }

  private static List<SharedPort> open() {
    synchronized (OPEN) {
      return List.copyOf(OPEN.values());
    }
  }

  /** Returns whether a tenant answers requests at an address. */
  static boolean isServed(InetSocketAddress address) {
    synchronized (OPEN) {
      SharedPort port = OPEN.get(address);
      return port != null && !port.tenants.isEmpty();
    }
  }

  /** Begins to accept connections; a tenant is there to answer them. */
  abstract void start();

  /** Closes the port and all its connections. */
  abstract void stop();

  /**
   * Serves at an address; an organ's newer tenant uses the port of the older one.
   *
   * @param opening opens the port if there is none
   * @throws IOException if the port cannot be opened; the message names the remedy
   */
  static SharedPort join(String pid, InetSocketAddress address, PortTenant tenant, Opening opening)
      throws IOException {
    synchronized (OPEN) {
      SharedPort present = OPEN.get(address);
      if (present == null) {
        return opened(tenant, opening.open());
      }
      if (!present.pid.equals(pid)) {
        throw taken(pid, address, "address already in use", null);
      }
      add(present, tenant);
      return present;
    }
  }

  private static SharedPort opened(PortTenant tenant, SharedPort port) {
    add(port, tenant);
    port.start();
    OPEN.put(port.address(), port);
    OwnPorts.note(port.address(), port.pid + ".port");
    return port;
  }

  static IOException taken(String pid, InetSocketAddress address, String why, IOException cause) {
    return new IOException(
        "%s cannot listen at %s: %s; %s"
            .formatted(pid, HostPort.of(address), why, OwnPorts.conflict(address, pid + ".port")),
        cause);
  }

  private static void add(SharedPort port, PortTenant tenant) {
    port.tenants.add(tenant);
    port.arrivals++;
    OPEN.notifyAll();
  }

  /** Begins a request on the calling thread; waits while the port has no tenant. */
  final PortTenant enter() {
    PortTenant tenant = awaitTenant();
    while (!tenant.enter()) {
      tenant = awaitTenant();
    }
    return tenant;
  }

  /** Returns the newest tenant; empty while the port stays open for the next one. */
  final Optional<PortTenant> newest() {
    synchronized (OPEN) {
      return tenants.isEmpty() ? Optional.empty() : Optional.of(tenants.getLast());
    }
  }

  /** Waits for a tenant while the port stays open for the next one, and returns it. */
  final PortTenant awaitTenant() {
    synchronized (OPEN) {
      try {
        while (tenants.isEmpty() && !closed) {
          OPEN.wait();
        }
      } catch (InterruptedException closing) {
        Thread.currentThread().interrupt();
      }
      if (tenants.isEmpty()) {
        throw new IllegalStateException("nobody serves at " + address() + " any more");
      }
      return tenants.getLast();
    }
  }

  /**
   * Removes a tenant after its running requests.
   *
   * @param keep the time that the port stays open for the next tenant if this was the last;
   *     requests wait meanwhile
   */
  final void leave(PortTenant tenant, Duration keep) {
    boolean last;
    long before;
    synchronized (OPEN) {
      if (!tenants.remove(tenant)) {
        return;
      }
      last = tenants.isEmpty();
      before = arrivals;
    }
    if (!last || keep.isPositive()) {
      tenant.finish(DRAIN);
    }
    if (last && keep.isPositive()) {
      Thread.ofVirtual().name("port of " + pid).start(() -> closeAfter(keep, before));
    } else if (last) {
      closeUnlessJoined(before);
    }
  }

  private void closeAfter(Duration keep, long before) {
    long end = System.nanoTime() + keep.toNanos();
    synchronized (OPEN) {
      try {
        while (arrivals == before && !closed && System.nanoTime() < end) {
          TimeUnit.NANOSECONDS.timedWait(OPEN, end - System.nanoTime());
        }
      } catch (InterruptedException hurried) {
        Thread.currentThread().interrupt();
      }
    }
    closeUnlessJoined(before);
  }

  private void closeUnlessJoined(long before) {
    synchronized (OPEN) {
      if (arrivals == before && !closed) {
        shut();
      }
    }
  }

  /** Closes the port under the lock, so that the next opening finds it free. */
  private void shut() {
    closed = true;
    OPEN.remove(address());
    OwnPorts.forget(address());
    OPEN.notifyAll();
    stop();
  }
}
