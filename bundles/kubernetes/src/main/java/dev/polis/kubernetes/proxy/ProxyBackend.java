package dev.polis.kubernetes.proxy;

import java.net.InetSocketAddress;
import javax.net.ssl.SSLContext;

/** Describes the API server for the requests. */
public sealed interface ProxyBackend {

  /**
   * Means that the API server runs, or will run in a moment.
   *
   * @param address its address
   * @param tls presents the proxy's certificate of the aggregation CA, and verifies the API
   *     server's
   * @param anonymous presents no certificate, for requests whose token identifies the client
   */
  record Present(InetSocketAddress address, SSLContext tls, SSLContext anonymous)
      implements ProxyBackend {}

  /**
   * Means that there is no API server.
   *
   * @param why the reason for the user, with a remedy
   */
  record Absent(String why) implements ProxyBackend {}

  /**
   * Means that the API server is starting.
   *
   * @param why the reason for the user, with a remedy
   */
  record Starting(String why) implements ProxyBackend {}

  /** Finds the API server for each request. */
  @FunctionalInterface
  interface Source {
    /** Returns the API server, and may wait for it for a while. */
    ProxyBackend await() throws InterruptedException;
  }
}
