package dev.polis.rpc;

import java.io.IOException;
import java.security.cert.X509Certificate;

/** Answers requests that come over TLS, in a protocol of its own choice. */
@FunctionalInterface
public interface TlsHandler {

  /** Says what becomes of a connection after a request. */
  sealed interface Next {

    /** Keeps it for the next request, which the newest handler at the port answers. */
    record Keep() implements Next {}

    /** Closes it, after what was written has been sent. */
    record Close() implements Next {}

    /**
     * Passes all bytes to another connection and back until one of them ends. The platform does
     * that, so it continues while the code of the handler is replaced.
     *
     * @param other closed with the first one
     */
    record Join(TlsConnection other) implements Next {}

    /**
     * Passes what another connection sends until it ends, as {@link Join} does, and nothing the
     * other way: a byte of the peer, or its end, ends both. For a lasting answer, behind which no
     * request of the peer may reach the other side unread.
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
   * Prepares for requests, before the handler takes the place of another one, which answers
   * meanwhile. So the first caller does not wait while code is loaded.
   */
  default void prepare() {}

  /**
   * Returns whether the owner of a certificate belongs to the cluster. Asked after the handshake,
   * which proved that the peer owns it. Connections of members have room of their own; all others,
   * which is what this takes everybody for, give way to newer ones.
   *
   * <p>Asked with each request, too, and twice a second of each connection of a member: that of one
   * that belongs to the cluster no more is closed.
   */
  default boolean isMember(X509Certificate certificate) {
    return false;
  }
}
