package dev.polis.metrics;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.pki.Crl;
import dev.polis.pki.Identity;
import dev.polis.pki.IdentityException;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/**
 * Knows the node's certificate and who may read its metrics: nodes and users of its cluster. It
 * reads credentials and revocations when they are needed, so that changes count from then on.
 */
final class MetricsAccess {
  private final Value<ClusterStatus> cluster;
  private final TlsTrust.Source members;

  MetricsAccess(Value<ClusterStatus> cluster, Supplier<Optional<Crl>> revoked) {
    this.cluster = cluster;
    this.members = TlsTrust.Source.of(this::ca, revoked);
  }

  /** Waits until the node has a certificate to present. */
  void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  /** Returns a TLS context that follows changes of the credentials. */
  SSLContext context() {
    return TlsContexts.context(
        new TlsKeys(() -> credentials().map(NodeCredentials::tls)), TlsTrust.member(members));
  }

  /**
   * Checks a caller's certificate again, as its connection may be older than a revocation.
   *
   * @throws IdentityException saying why it may not read
   */
  Identity verify(X509Certificate certificate) {
    return members.verify(certificate);
  }

  private Optional<NodeCredentials> credentials() {
    return cluster.peek().flatMap(ClusterStatus::credentials);
  }

  private X509Certificate ca() {
    return credentials()
        .map(NodeCredentials::ca)
        .orElseThrow(
            () ->
                new IdentityException(
                    "this node is not a member of a cluster yet, so it accepts no certificate"));
  }
}
