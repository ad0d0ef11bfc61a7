package dev.polis.rpc;

import java.io.IOException;
import java.security.cert.X509Certificate;

/** Answers requests that come over TLS, in a protocol of its own choice. */
@FunctionalInterface
public interface TlsHandler {

  /** Decides about the connection after a request. */
  sealed interface Next {

    /** Keeps the connection for the next request, which the port's newest handler answers. */
    record Keep() implements Next {}

    /** Closes the connection after the written bytes were sent. */
    record Close() implements Next {}

    /**
     * Joins the connection with another one: all bytes go both ways until one of them ends. The
     * platform does that, so it continues while the code of the handler is replaced.
     *
     * @param other closed with the first one
     */
    record Join(TlsConnection other) implements Next {}

    /**
     * Passes the bytes of another connection to the peer until it ends, and nothing in the other
     * direction. A byte from the peer, or its end, ends both connections. This serves for a lasting
     * answer: no further request of the peer may reach the other side unchecked.
     *
     * @param other closed with the first one
     */
    record Stream(TlsConnection other) implements Next {}
  }

  /**
   * Answers one request, whose first byte has arrived. The thread is interrupted when the handler
   * is replaced and the request takes too long, which closes the connection.
   *
   * @throws IOException if a connection broke, which closes this one
   */
  Next handle(TlsConnection connection) throws IOException;

  /**
   * Prepares for requests while the older handler still answers, so that the first caller does not
   * wait for code to load.
   */
  default void prepare() {}

  /**
   * Returns whether the owner of a certificate belongs to the cluster. The port calls it after the
   * handshake, which proved that the peer owns the certificate. Members' connections have room of
   * their own; others give way to newer ones. By default, no owner is a member.
   *
   * <p>The port also calls it with each request, and twice a second for each connection of a
   * member: it closes the connection of a peer that is no longer a member.
   */
  default boolean isMember(X509Certificate certificate) {
    return false;
  }
}
