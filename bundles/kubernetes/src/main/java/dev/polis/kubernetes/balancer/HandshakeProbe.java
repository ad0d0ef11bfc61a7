package dev.polis.kubernetes.balancer;

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
 * Makes a TLS handshake with an API server. The kernel accepts connections even for a stopped or
 * hanging program, but the program itself must make the handshake.
 */
public final class HandshakeProbe implements BackendProbe {

  /** The time for a handshake, a tenth of the kubelet's patience. */
  private static final int MILLIS = 3_000;

  private final Supplier<Optional<X509Certificate>> ca;

  /**
   * @param ca the CA of the API servers; while it is unknown, all count as healthy
   */
  public HandshakeProbe(Supplier<Optional<X509Certificate>> ca) {
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
