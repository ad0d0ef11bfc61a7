package dev.polis.pki;

import java.net.InetAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Describes the content of a certificate, without its key and its signer. Build one with the
 * factory for its kind.
 *
 * @param commonName the CN of the subject
 * @param organizations the O of the subject, in order; to Kubernetes these are the user's groups
 * @param dnsNames DNS subject alternative names
 * @param addresses IP subject alternative names
 * @param usages what the holder may do
 * @param ca true for an authority that signs other certificates
 * @param lifetime the time for which the certificate is valid
 */
public record CertificateTemplate(
    String commonName,
    List<String> organizations,
    List<String> dnsNames,
    List<InetAddress> addresses,
    Set<Usage> usages,
    boolean ca,
    Duration lifetime) {

  /** Lists the permitted uses of a certificate. */
  public enum Usage {
    /** The holder may be a TLS server. */
    SERVER,
    /** The holder may be a TLS client. */
    CLIENT
  }

  /**
   * The life of an authority: ten years. Only an operator replaces an authority, while its
   * certificates renew automatically.
   */
  public static final Duration AUTHORITY_LIFETIME = Duration.ofDays(3650);

  /**
   * The life of a node's certificate: thirty days. So a removed node's certificate ends within a
   * month even without a revocation list, and a node that was off for up to a month still starts.
   */
  public static final Duration NODE_LIFETIME = Duration.ofDays(30);

  /** The life of a user's certificate: a year, since users renew by hand. */
  public static final Duration USER_LIFETIME = Duration.ofDays(365);

  /** Copies its collections and refuses a lifetime that is not positive. */
  public CertificateTemplate {
    organizations = List.copyOf(organizations);
    dnsNames = List.copyOf(dnsNames);
    addresses = List.copyOf(addresses);
    usages = Set.copyOf(usages);
    if (lifetime.isNegative() || lifetime.isZero()) {
      throw new PkiException(
          "lifetime " + lifetime + " of certificate \"" + commonName + "\" is not positive");
    }
  }

  /** Returns the template of a self-signed authority. */
  public static CertificateTemplate authority(String name) {
    return new CertificateTemplate(
        name, List.of(), List.of(), List.of(), Set.of(), true, AUTHORITY_LIFETIME);
  }

  /**
   * Returns the template of a cluster node: CN and DNS name are its id; server authentication only.
   */
  public static CertificateTemplate node(NodeId id) {
    return leaf(id.text(), List.of(id.text()), List.of(), Set.of(Usage.SERVER), NODE_LIFETIME);
  }

  /** Returns the template of a cluster user: CN is the name; client authentication only. */
  public static CertificateTemplate user(String name) {
    if (name.isBlank()) {
      throw new PkiException("a user needs a name, this one is \"" + name + "\"");
    }
    return leaf(name, List.of(), List.of(), Set.of(Usage.CLIENT), USER_LIFETIME);
  }

  /** Returns the template of a TLS server that is no node, such as etcd. */
  public static CertificateTemplate server(
      String commonName, List<String> dnsNames, List<InetAddress> addresses) {
    return leaf(commonName, dnsNames, addresses, Set.of(Usage.SERVER), NODE_LIFETIME);
  }

  /**
   * Returns the template of a program that is both server and client (etcd peers; an etcd client
   * port, whose server dials itself).
   */
  public static CertificateTemplate peer(
      String commonName, List<String> dnsNames, List<InetAddress> addresses) {
    return leaf(commonName, dnsNames, addresses, Set.of(Usage.SERVER, Usage.CLIENT), NODE_LIFETIME);
  }

  /** Returns the template of a TLS client that is no user of the cluster, such as an etcd user. */
  public static CertificateTemplate client(String commonName) {
    return leaf(commonName, List.of(), List.of(), Set.of(Usage.CLIENT), NODE_LIFETIME);
  }

  /** Returns the same template with another lifetime. */
  public CertificateTemplate withLifetime(Duration other) {
    return new CertificateTemplate(
        commonName, organizations, dnsNames, addresses, usages, ca, other);
  }

  /** Returns the same template with other organizations. */
  public CertificateTemplate withOrganizations(List<String> others) {
    return new CertificateTemplate(commonName, others, dnsNames, addresses, usages, ca, lifetime);
  }

  /** Returns whether a certificate has this content, whatever its lifetime. */
  public boolean describes(X509Certificate certificate) {
    return Identity.commonName(certificate).orElse("").equals(commonName)
        && Set.copyOf(Identity.organizations(certificate)).equals(Set.copyOf(organizations))
        && Set.copyOf(Identity.dnsNames(certificate)).equals(Set.copyOf(dnsNames))
        && Identity.addresses(certificate).equals(Set.copyOf(addresses))
        && Set.copyOf(Identity.usages(certificate)).equals(usageIdentifiers())
        && certificate.getBasicConstraints() >= 0 == ca;
  }

  private Set<String> usageIdentifiers() {
    return usages.stream()
        .map(usage -> usage == Usage.SERVER ? Identity.SERVER_AUTH : Identity.CLIENT_AUTH)
        .collect(Collectors.toSet());
  }

  private static CertificateTemplate leaf(
      String name, List<String> dns, List<InetAddress> ips, Set<Usage> usages, Duration lifetime) {
    return new CertificateTemplate(name, List.of(), dns, ips, usages, false, lifetime);
  }
}
