package dev.polis.rpc;

import com.sun.net.httpserver.HttpHandler;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Serves HTTPS at one address, each request on a virtual thread of its own. For organs that answer
 * clients which speak HTTP/1.1 instead of gRPC. Only members of the cluster finish the handshake.
 * Its opener closes it.
 *
 * <p>The port belongs to the platform. While an organ is replaced, its next instance opens a
 * listener at the same address: from then on it gets all requests, on the same open port, and when
 * it is closed first the one before gets them again. Connections end with the last listener.
 */
public final class HttpsListener implements AutoCloseable {

  private final TlsListener listener;

  private HttpsListener(TlsListener listener) {
    this.listener = listener;
  }

  /**
   * Begins to listen.
   *
   * @param pid the configuration whose key {@code port} chose the port; failures name it
   * @param address where to listen; port 0 for any free one
   * @param context the certificate to present and whom to trust: members of the cluster
   * @param parameters the protocols, and whether clients need a certificate
   * @param handler answers all requests, on several threads at a time
   * @param log where handshakes that fail are reported
   * @throws IOException if the port cannot be opened; the message says what to do
   */
  public static HttpsListener open(
      String pid,
      InetSocketAddress address,
      SSLContext context,
      SSLParameters parameters,
      HttpHandler handler,
      Log log)
      throws IOException {
    return new HttpsListener(
        TlsListener.open(pid, address, context, parameters, new HttpRequests(handler), log));
  }

  /** Returns where it listens. */
  public InetSocketAddress address() {
    return listener.address();
  }

  /** Ends serving; closes the port and all its connections if no other listener serves there. */
  @Override
  public void close() {
    listener.close();
  }

  /**
   * Ends serving, after the requests that were begun, and keeps the port open for the next one.
   *
   * @param keep how long at most; requests wait meanwhile
   */
  public void close(Duration keep) {
    listener.close(keep);
  }
}
