package dev.polis.kubernetes.worker;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLSocket;

/**
 * Asks an API server for a TLS handshake. A program that is stopped or hangs still gets connections
 * from the kernel; a handshake it must make itself.
 */
final class HandshakeProbe implements BackendProbe {

  /** The kubelet's patience is ten times this. */
  private static final int MILLIS = 3_000;

  private final Supplier<Optional<X509Certificate>> ca;

  /**
   * @param ca of the API servers; while it is unknown, all count as healthy
   */
  HandshakeProbe(Supplier<Optional<X509Certificate>> ca) {
    this.ca = ca;
  }

  @Override
  public boolean answers(InetSocketAddress server) {
    Optional<X509Certificate> known = ca.get();
    return known.isEmpty() || shakesHands(server, TlsTrust.Source.of(known.get()));
  }

  private static boolean shakesHands(InetSocketAddress server, TlsTrust.Source source) {
    try (Socket plain = new Socket()) {
      plain.connect(server, MILLIS);
      plain.setSoTimeout(MILLIS);
      try (SSLSocket tls =
          (SSLSocket)
              TlsContexts.anonymous(TlsTrust.server(source, KubernetesNames.SERVER_NAME))
                  .getSocketFactory()
                  .createSocket(
                      plain, server.getAddress().getHostAddress(), server.getPort(), true)) {
        tls.startHandshake();
        return true;
      }
    } catch (IOException noAnswer) {
      return false;
    }
  }
}
