package dev.polis.rpc;

import dev.polis.logtree.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Accepts TLS connections at one address, each on a virtual thread of its own. It serves organs
 * whose clients use features that the JDK's HTTP server lacks, such as HTTP upgrades. Its opener
 * closes it.
 *
 * <p>The port and its connections belong to the platform. While an organ is replaced, its next
 * instance opens a listener at the same address: from then on it answers the next request of each
 * connection. Connections end with the last listener.
 */
public final class TlsListener implements AutoCloseable {

  private final SharedPort port;
  private final PortTenant tenant;

  private TlsListener(SharedPort port, PortTenant tenant) {
    this.port = port;
    this.tenant = tenant;
  }

  /**
   * Begins to listen. A handler that replaces another one prepares first.
   *
   * @param pid the configuration whose key {@code port} chose the port; failures name it
   * @param address the address to listen at; port 0 for any free one
   * @param context the presented certificate and the trusted CA
   * @param parameters the protocols, and whether clients need a certificate
   * @param handler answers all requests, on several threads at a time
   * @param log receives the failed handshakes
   * @throws IOException if the port cannot be opened; the message names the remedy
   */
  public static TlsListener open(
      String pid,
      InetSocketAddress address,
      SSLContext context,
      SSLParameters parameters,
      TlsHandler handler,
      Log log)
      throws IOException {
    if (SharedPort.isServed(address)) {
      handler.prepare();
    }
    PortTenant tenant =
        new PortTenant(context, parameters, handler, new HandshakeLog(log, TlsPort.HANDSHAKE_TIME));
    return new TlsListener(TlsPort.join(pid, address, tenant), tenant);
  }

  /** Returns the address of the listener. */
  public InetSocketAddress address() {
    return port.address();
  }

  /** Ends serving; closes the port and all its connections if no other listener serves there. */
  @Override
  public void close() {
    close(Duration.ZERO);
  }

  /**
   * Ends serving after the running requests, and keeps the port open for the next listener.
   *
   * @param keep the longest time that the port stays open; requests wait meanwhile
   */
  public void close(Duration keep) {
    port.leave(tenant, keep);
  }
}
