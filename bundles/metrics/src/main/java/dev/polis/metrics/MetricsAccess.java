package dev.polis.metrics;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.pki.CaBundle;
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
 * Holds the node's certificate, and admits nodes and users of its cluster to its metrics. It reads
 * credentials and revocations at each use, so that changes take effect at once.
 */
final class MetricsAccess {
  private final Value<ClusterStatus> cluster;
  private final TlsTrust.Source members;

  MetricsAccess(Value<ClusterStatus> cluster, Supplier<Optional<Crl>> revoked) {
    this.cluster = cluster;
    this.members = TlsTrust.Source.of(this::ca, revoked);
  }

  /** Waits until the node has a certificate. */
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
   * Checks a caller's certificate again, since its connection may be older than a revocation.
   *
   * @throws IdentityException naming the reason of the refusal
   */
  Identity verify(X509Certificate certificate) {
    return members.verify(certificate);
  }

  private Optional<NodeCredentials> credentials() {
    return cluster.peek().flatMap(ClusterStatus::credentials);
  }

  private CaBundle ca() {
    return credentials()
        .map(NodeCredentials::ca)
        .orElseThrow(
            () ->
                new IdentityException(
                    "this node is not a member of a cluster yet, so it accepts no certificate"));
  }
}
