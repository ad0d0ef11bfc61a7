package dev.polis.kubernetes.proxy;

import java.net.InetSocketAddress;
import javax.net.ssl.SSLContext;

/** Holds the API server that gets the requests. */
public sealed interface ProxyBackend {

  /**
   * The API server runs, or will in a moment.
   *
   * @param address where it listens
   * @param tls presents the proxy's certificate of the aggregation CA, and verifies the API
   *     server's
   * @param anonymous presents no certificate: for requests with a token that identifies the client
   */
  record Present(InetSocketAddress address, SSLContext tls, SSLContext anonymous)
      implements ProxyBackend {}

  /**
   * There is no API server.
   *
   * @param why for the user, with a remedy
   */
  record Absent(String why) implements ProxyBackend {}

  /**
   * The API server starts.
   *
   * @param why for the user, with a remedy
   */
  record Starting(String why) implements ProxyBackend {}

  /** Finds the API server again for each request. */
  @FunctionalInterface
  interface Source {
    /** Returns it, and may wait for it for a while. */
    ProxyBackend await() throws InterruptedException;
  }
}
