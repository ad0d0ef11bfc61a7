package dev.polis.kubernetes.proxy;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.pki.Crl;
import dev.polis.pki.Identity;
import dev.polis.pki.IdentityException;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Renewal;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/**
 * Knows the node's certificate, and who may use Kubernetes: users of its cluster. Credentials,
 * lifetime and revocation are looked at with each request, so that a change counts from then on.
 * Thread-safe.
 */
final class ProxyAccess {

  /** Keeps the results for this many users, since verifying signatures takes half a millisecond. */
  private static final int REMEMBERED = 256;

  private static final String SHOW =
      "show the certificate of a user of this cluster; 'polisctl kubeconfig' sets kubectl up";

  /**
   * What was verified, and against whom.
   *
   * @param ca the certificate of the cluster's CA
   * @param identity whose certificate it is
   */
  private record Verified(X509Certificate ca, Identity identity) {}

  private final Value<ClusterStatus> cluster;
  private final Supplier<Optional<Crl>> revoked;
  private final InstantSource clock;
  private final Map<X509Certificate, Verified> remembered = new Recent();

  ProxyAccess(Value<ClusterStatus> cluster, Supplier<Optional<Crl>> revoked, InstantSource clock) {
    this.cluster = cluster;
    this.revoked = revoked;
    this.clock = clock;
  }

  /** Waits until the node has a certificate to present. */
  void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  /** Returns a TLS context that presents the node's newest certificate and takes any key. */
  SSLContext context() {
    return TlsContexts.context(
        new TlsKeys(() -> credentials().map(NodeCredentials::tls)), TlsTrust.anyKey());
  }

  /**
   * Returns the sender of a request: the user of the certificate that was shown, or without one the
   * token's owner, whom the API server finds out.
   *
   * @param bearer the token of the request
   * @throws ProxyRefusal if it has no valid sender
   */
  ProxySender sender(Optional<X509Certificate> shown, Optional<String> bearer) throws ProxyRefusal {
    return shown.isPresent()
        ? user(shown.get())
        : bearer
            .map(ProxySender.Bearer::new)
            .orElseThrow(
                () -> ProxyRefusal.unauthorized("no certificate was shown, and no token; " + SHOW));
  }

  /**
   * Returns the user that a certificate belongs to.
   *
   * @throws ProxyRefusal if it belongs to none; with a cause if it cannot be read
   */
  ProxySender.User user(X509Certificate certificate) throws ProxyRefusal {
    try {
      return read(certificate);
    } catch (IdentityException wrong) {
      throw ProxyRefusal.unauthorized(wrong.getMessage() + "; " + SHOW);
    } catch (RuntimeException unforeseen) {
      throw ProxyRefusal.unreadable(
          "the certificate that was shown cannot be read; " + SHOW, unforeseen);
    }
  }

  private ProxySender.User read(X509Certificate certificate) throws ProxyRefusal {
    return switch (identity(certificate)) {
      case Identity.User(String name) -> {
        List<String> groups = new ArrayList<>();
        for (String group : Identity.organizations(certificate)) {
          groups.add(header(group));
        }
        yield new ProxySender.User(header(name), groups);
      }
      case Identity.Node(var id) ->
          throw ProxyRefusal.unauthorized(
              "the certificate is that of node %s, which is no user of Kubernetes; %s"
                  .formatted(id, SHOW));
    };
  }

  private Identity identity(X509Certificate certificate) throws ProxyRefusal {
    X509Certificate ca =
        credentials()
            .map(NodeCredentials::ca)
            .orElseThrow(
                () -> ProxyRefusal.unauthorized("this node does not know its cluster yet"));
    Identity identity = verified(certificate, ca);
    requireFresh(certificate);
    return identity;
  }

  private void requireFresh(X509Certificate certificate) {
    Instant now = clock.instant();
    Renewal life = Renewal.of(certificate);
    if (life.invalid(now)) {
      throw new IdentityException(
          "the certificate is valid from %s to %s, and it is %s"
              .formatted(life.notBefore(), life.notAfter(), now));
    }
    if (revoked.get().filter(list -> list.revokes(certificate)).isPresent()) {
      throw new IdentityException(
          "the certificate of %s is revoked".formatted(certificate.getSubjectX500Principal()));
    }
  }

  private Identity verified(X509Certificate certificate, X509Certificate ca) {
    synchronized (remembered) {
      Verified known = remembered.get(certificate);
      if (known != null && known.ca().equals(ca)) {
        return known.identity();
      }
    }
    Identity identity = Identity.verify(certificate, ca);
    synchronized (remembered) {
      remembered.put(certificate, new Verified(ca, identity));
    }
    return identity;
  }

  /** Writes a name as UTF-8 in the characters of a header, and refuses what would be misread. */
  private static String header(String name) throws ProxyRefusal {
    if (name.codePoints().anyMatch(Character::isISOControl) || !name.strip().equals(name)) {
      throw ProxyRefusal.unauthorized(
          "a name in the certificate has control characters, or space around it; " + SHOW);
    }
    if (name.startsWith("system:")) {
      throw ProxyRefusal.unauthorized(
          "the certificate names \"%s\"; such names belong to the parts of Kubernetes; %s"
              .formatted(HttpHead.printable(name), SHOW));
    }
    return new String(name.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  private Optional<NodeCredentials> credentials() {
    return cluster.peek().flatMap(ClusterStatus::credentials);
  }

  private static final class Recent extends LinkedHashMap<X509Certificate, Verified> {
    private static final long serialVersionUID = 1L;

    Recent() {
      super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<X509Certificate, Verified> eldest) {
      return size() > REMEMBERED;
    }
  }
}
