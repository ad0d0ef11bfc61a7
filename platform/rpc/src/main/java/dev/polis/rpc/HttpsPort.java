package dev.polis.rpc;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Keeps one port open for HTTPS, on behalf of whoever serves there. Several of one organ may serve
 * at a port for a moment, while one replaces the other: the newest gets all requests, and the port
 * is closed after the last one.
 *
 * <p>All ports of the process are known here, and one lock guards them all: they are few, and
 * seldom change.
 */
final class HttpsPort {

  /** Lets the system choose how many connections may wait to be accepted. */
  private static final int BACKLOG = 0;

  /** How long requests that one who goes has begun may take to end. */
  private static final Duration DRAIN = Duration.ofSeconds(2);

  private static final Map<InetSocketAddress, HttpsPort> OPEN = new HashMap<>();

  private final String pid;
  private final HttpsServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  // Guarded by OPEN.
  private final List<HttpsTenant> tenants = new ArrayList<>();
  private long arrivals;
  private boolean closed;

  private HttpsPort(String pid, HttpsServer server) {
    this.pid = pid;
    this.server = server;
  }

  /**
   * Serves at an address: at the port of the one before, if there is one of the same organ.
   *
   * @throws IOException if the port cannot be opened; the message says what to do
   */
  static HttpsPort join(String pid, InetSocketAddress address, HttpsTenant tenant)
      throws IOException {
    synchronized (OPEN) {
      HttpsPort present = OPEN.get(address);
      if (present == null) {
        present = opened(pid, address, tenant);
      } else if (!present.pid.equals(pid)) {
        throw taken(pid, address, "it is the port of " + present.pid, null);
      } else {
        present.add(tenant);
      }
      return present;
    }
  }

  private static HttpsPort opened(String pid, InetSocketAddress address, HttpsTenant tenant)
      throws IOException {
    HttpsPort port = new HttpsPort(pid, bind(pid, address));
    port.add(tenant);
    port.start(tenant);
    OPEN.put(port.address(), port);
    return port;
  }

  private static HttpsServer bind(String pid, InetSocketAddress address) throws IOException {
    try {
      return HttpsServer.create(address, BACKLOG);
    } catch (IOException e) {
      throw taken(pid, address, e.getMessage(), e);
    }
  }

  private static IOException taken(
      String pid, InetSocketAddress address, String why, IOException cause) {
    return new IOException(
        "%s cannot listen at %s:%d: %s; set another port (%s.port), or end the process that has it (ss -ltnp)"
            .formatted(pid, address.getAddress().getHostAddress(), address.getPort(), why, pid),
        cause);
  }

  private void start(HttpsTenant first) {
    server.setHttpsConfigurator(
        new HttpsConfigurator(PresentContext.of(first.context(), this::awaitContext)) {
          @Override
          public void configure(HttpsParameters connection) {
            WatchedContext.configured(connection.getClientAddress());
            connection.setSSLParameters(awaitTenant().parameters());
          }
        });
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  private void add(HttpsTenant tenant) {
    tenants.add(tenant);
    arrivals++;
    OPEN.notifyAll();
  }

  private javax.net.ssl.SSLContext awaitContext() {
    return awaitTenant().watched(threads);
  }

  private void handle(HttpExchange exchange) throws IOException {
    HttpsTenant tenant = awaitTenant();
    while (!tenant.enter()) {
      tenant = awaitTenant();
    }
    try {
      tenant.handler().handle(exchange);
    } finally {
      tenant.leave();
    }
  }

  /** Returns who serves, and waits while the port is kept open for the next one. */
  private HttpsTenant awaitTenant() {
    synchronized (OPEN) {
      try {
        while (tenants.isEmpty() && !closed) {
          OPEN.wait();
        }
      } catch (InterruptedException closing) {
        Thread.currentThread().interrupt();
      }
      if (tenants.isEmpty()) {
        throw new IllegalStateException("nobody serves at " + server.getAddress() + " any more");
      }
      return tenants.getLast();
    }
  }

  InetSocketAddress address() {
    return server.getAddress();
  }

  /**
   * Ends serving for one, after the requests it has begun.
   *
   * @param keep how long the port stays open for the next one, if nobody else serves there;
   *     requests wait meanwhile
   */
  void leave(HttpsTenant tenant, Duration keep) {
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
      Thread.ofVirtual().name("https port of " + pid).start(() -> closeAfter(keep, before));
    } else if (last) {
      closeUnlessJoined(before);
    }
  }

  private void closeAfter(Duration keep, long before) {
    long end = System.nanoTime() + keep.toNanos();
    synchronized (OPEN) {
      try {
        while (arrivals == before && System.nanoTime() < end) {
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
      if (arrivals != before || closed) {
        return;
      }
      closed = true;
      OPEN.remove(address());
      OPEN.notifyAll();
    }
    server.stop(0);
    threads.shutdownNow();
  }
}
