package dev.polis.kubernetes.pki;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.handover.OrganState;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Renewal;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;

/**
 * Holds the present keys and certificates of the control plane. Immutable; it never prints its
 * secrets.
 */
public final class KubeKeys {

  // The names of the values that one instance of this code tells the next.
  private static final String AUTHORITY = "authority";
  private static final String AGGREGATION_CA = "aggregation-ca";
  private static final String IDENTITIES = "identities";
  private static final String SERVICE_ACCOUNT = "service-account-key";
  private static final String ENCRYPTION_KEY = "encryption-key";

  private final CertificateAuthority authority;
  private final X509Certificate aggregationCa;
  private final Map<KubeIdentity, TlsIdentity> identities;
  private final ServiceAccountKey serviceAccount;
  private final byte[] encryptionKey;

  KubeKeys(
      CertificateAuthority authority,
      X509Certificate aggregationCa,
      Map<KubeIdentity, TlsIdentity> identities,
      ServiceAccountKey serviceAccount,
      byte[] encryptionKey) {
    this.authority = authority;
    this.aggregationCa = aggregationCa;
    this.identities = Map.copyOf(identities);
    this.serviceAccount = serviceAccount;
    this.encryptionKey = encryptionKey.clone();
  }

  /** Adds the keys to a state, as values that another version of this code can read. */
  public OrganState addTo(OrganState state) {
    Map<String, TlsIdentity> named = new HashMap<>();
    identities.forEach((which, identity) -> named.put(which.objectName(), identity));
    return state
        .with(AUTHORITY, authority)
        .with(AGGREGATION_CA, aggregationCa)
        .with(IDENTITIES, Map.copyOf(named))
        .with(SERVICE_ACCOUNT, serviceAccount.bytes())
        .with(ENCRYPTION_KEY, encryptionKey.clone());
  }

  /** Reads keys from a state; empty if it lacks a key that this version needs. */
  public static Optional<KubeKeys> find(OrganState state) {
    Optional<CertificateAuthority> authority = state.find(AUTHORITY, CertificateAuthority.class);
    Map<?, ?> named = state.find(IDENTITIES, Map.class).orElse(Map.of());
    Map<KubeIdentity, TlsIdentity> identities = new EnumMap<>(KubeIdentity.class);
    for (KubeIdentity each : KubeIdentity.values()) {
      if (named.get(each.objectName()) instanceof TlsIdentity identity) {
        identities.put(each, identity);
      }
    }
    if (authority.isEmpty() || identities.size() < KubeIdentity.values().length) {
      return Optional.empty();
    }
    return Optional.of(
        new KubeKeys(
            authority.get(),
            state.require(AGGREGATION_CA, X509Certificate.class),
            identities,
            ServiceAccountKey.of(state.require(SERVICE_ACCOUNT, byte[].class)),
            state.require(ENCRYPTION_KEY, byte[].class)));
  }

  /** Returns the certificate of the authority that signs servers and clients of the cluster. */
  public X509Certificate ca() {
    return authority.certificate();
  }

  /** Returns the certificate of the authority that signs proxies. */
  public X509Certificate aggregationCa() {
    return aggregationCa;
  }

  /** Returns the key and certificate of an identity. */
  public TlsIdentity identity(KubeIdentity which) {
    return identities.get(which);
  }

  /** Returns the key that signs service account tokens. */
  public ServiceAccountKey serviceAccount() {
    return serviceAccount;
  }

  /** Returns the key for the encryption of secrets in etcd, in base64. */
  public String encryptionKey() {
    return Base64.getEncoder().encodeToString(encryptionKey);
  }

  /** Makes a new key with a certificate of the cluster's authority, and stores neither. */
  public TlsIdentity issue(CertificateTemplate template) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), authority.issue(template, pair.getPublic()));
  }

  /**
   * Makes a client of the API server.
   *
   * @param user its name
   * @param groups its groups
   * @param lifetime the life of its certificate
   */
  public TlsIdentity issue(String user, List<String> groups, Duration lifetime) {
    return issue(CertificateTemplate.client(user).withOrganizations(groups).withLifetime(lifetime));
  }

  /** Returns the time of the first due renewal. */
  public Instant renewalDue() {
    return identities.values().stream()
        .map(each -> Renewal.of(each.certificate()).dueAt())
        .min(Instant::compareTo)
        .orElseThrow();
  }

  /** Returns the time at which the first certificate ends, authorities included. */
  public Instant firstEnd() {
    return Stream.concat(
            identities.values().stream().map(TlsIdentity::certificate),
            Stream.of(ca(), aggregationCa()))
        .map(each -> Renewal.of(each).notAfter())
        .min(Instant::compareTo)
        .orElseThrow();
  }

  /**
   * Returns a TLS context that presents an identity of the newest keys and trusts API servers.
   *
   * @param newest gives the keys at each handshake
   */
  public static SSLContext client(Supplier<KubeKeys> newest, KubeIdentity which) {
    return TlsContexts.context(
        new TlsKeys(() -> Optional.of(newest.get().identity(which))),
        trust(newest, KubernetesNames.SERVER_NAME));
  }

  /**
   * Returns the trust in a server with a DNS name. The authority also signs kubelets and clients,
   * whose keys a compromised worker has, so the trust accepts none of them as an API server.
   *
   * @param newest gives the keys at each handshake
   */
  public static TlsTrust trust(Supplier<KubeKeys> newest, String name) {
    return TlsTrust.server(
        TlsTrust.Source.of(() -> CaBundle.of(newest.get().ca()), Optional::empty), name);
  }

  @Override
  public String toString() {
    return "KubeKeys[%s %s, %d identities, <secret keys>]"
        .formatted(KubernetesNames.ID_CA, ca().getSubjectX500Principal(), identities.size());
  }
}
