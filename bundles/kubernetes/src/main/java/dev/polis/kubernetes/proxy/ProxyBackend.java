package dev.polis.kubernetes.proxy;

import java.net.InetSocketAddress;
import javax.net.ssl.SSLContext;

/** Says where the API server is that requests are passed to. */
public sealed interface ProxyBackend {

  /**
   * It is there, or will be in a moment.
   *
   * @param address where it listens
   * @param tls presents the proxy's certificate of the aggregation CA, and takes the API server's
   * @param anonymous presents no certificate: for requests whose own token says who the client is
   */
  record Present(InetSocketAddress address, SSLContext tls, SSLContext anonymous)
      implements ProxyBackend {}

  /**
   * There is none.
   *
   * @param why for the user, with what to do
   */
  record Absent(String why) implements ProxyBackend {}

  /**
   * It is on its way.
   *
   * @param why for the user, with what to do
   */
  record Starting(String why) implements ProxyBackend {}

  /** Finds it, for each request anew. */
  @FunctionalInterface
  interface Source {
    /** Returns it, and may wait for it for a while. */
    ProxyBackend await() throws InterruptedException;
  }
}
