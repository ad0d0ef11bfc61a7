package dev.polis.kubernetes.proxy;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.pki.CaBundle;
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
 * Holds the node's certificate, and admits the users of its cluster to Kubernetes. It checks
 * credentials, lifetime and revocation with each request, so that a change counts at once.
 * Thread-safe.
 */
final class ProxyAccess {

  /**
   * The number of users whose results it keeps, since the verification of signatures takes half a
   * millisecond.
   */
  private static final int REMEMBERED = 256;

  private static final String SHOW =
      "use the certificate of a user of this cluster; 'polisctl kubeconfig' sets up kubectl";

  /**
   * Holds the result of a verification.
   *
   * @param ca the CAs of the cluster
   * @param issuer the one that issued the certificate
   * @param identity the owner of the certificate
   */
  private record Verified(CaBundle ca, X509Certificate issuer, Identity identity) {}

  private final Value<ClusterStatus> cluster;
  private final Supplier<Optional<Crl>> revoked;
  private final InstantSource clock;
  private final Map<X509Certificate, Verified> remembered = new Recent();

  ProxyAccess(Value<ClusterStatus> cluster, Supplier<Optional<Crl>> revoked, InstantSource clock) {
    this.cluster = cluster;
    this.revoked = revoked;
    this.clock = clock;
  }

  /** Waits until the node has a certificate. */
  void awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = cluster.watch()) {
      watcher.get(status -> status.credentials().isPresent());
    }
  }

  /** Returns a TLS context with the node's newest certificate, which accepts any key. */
  SSLContext context() {
    return TlsContexts.context(
        new TlsKeys(() -> credentials().map(NodeCredentials::tls)), TlsTrust.anyKey());
  }

  /**
   * Returns the sender of a request: the user of the shown certificate, or else the token's owner,
   * whom the API server identifies.
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
                () ->
                    ProxyRefusal.unauthorized(
                        "the client showed neither a certificate nor a token; " + SHOW));
  }

  /**
   * Returns the user of a certificate.
   *
   * @throws ProxyRefusal if the certificate has no user; with a cause if it is unreadable
   */
  ProxySender.User user(X509Certificate certificate) throws ProxyRefusal {
    try {
      return read(certificate);
    } catch (IdentityException wrong) {
      throw ProxyRefusal.unauthorized(wrong.getMessage() + "; " + SHOW);
    } catch (RuntimeException unforeseen) {
      throw ProxyRefusal.unreadable("the client's certificate is unreadable; " + SHOW, unforeseen);
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
              "the certificate belongs to node %s, which is not a user of Kubernetes; %s"
                  .formatted(id, SHOW));
    };
  }

  private Identity identity(X509Certificate certificate) throws ProxyRefusal {
    CaBundle ca =
        credentials()
            .map(NodeCredentials::ca)
            .orElseThrow(
                () -> ProxyRefusal.unauthorized("this node does not know its cluster yet"));
    Verified known = verified(certificate, ca);
    requireFresh(certificate, known.issuer());
    return known.identity();
  }

  private void requireFresh(X509Certificate certificate, X509Certificate issuer) {
    Instant now = clock.instant();
    Renewal life = Renewal.of(certificate);
    if (life.invalid(now)) {
      throw new IdentityException(
          "the certificate is valid from %s to %s, but now it is %s"
              .formatted(life.notBefore(), life.notAfter(), now));
    }
    if (revoked.get().filter(list -> list.revokes(issuer)).isPresent()) {
      throw new IdentityException(
          "the certificate of %s is of a CA that the cluster has retired"
              .formatted(certificate.getSubjectX500Principal()));
    }
    if (revoked.get().filter(list -> list.revokes(certificate)).isPresent()) {
      throw new IdentityException(
          "the certificate of %s is revoked".formatted(certificate.getSubjectX500Principal()));
    }
  }

  private Verified verified(X509Certificate certificate, CaBundle ca) {
    synchronized (remembered) {
      Verified known = remembered.get(certificate);
      if (known != null && known.ca().equals(ca)) {
        return known;
      }
    }
    X509Certificate issuer = ca.issuerOf(certificate);
    Verified verified = new Verified(ca, issuer, Identity.verify(certificate, issuer));
    synchronized (remembered) {
      remembered.put(certificate, verified);
    }
    return verified;
  }

  /** Encodes a name as UTF-8 in the characters of a header, and refuses an ambiguous name. */
  private static String header(String name) throws ProxyRefusal {
    if (name.codePoints().anyMatch(Character::isISOControl) || !name.strip().equals(name)) {
      throw ProxyRefusal.unauthorized(
          "a name in the certificate has control characters, or a space at an end; " + SHOW);
    }
    if (name.startsWith("system:")) {
      throw ProxyRefusal.unauthorized(
          "the certificate names \"%s\", which is reserved for parts of Kubernetes; %s"
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
