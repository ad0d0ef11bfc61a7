package dev.polis.pki;

import java.net.InetAddress;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;

/**
 * Identifies the node or user of a cluster's certificate. The extended key usage alone
 * distinguishes the kinds: a node's certificate carries server authentication only, a user's
 * carries client authentication only; neither verifies as the other.
 *
 * <p>The rules check signature and content. {@link Renewal} checks the lifetime and {@link Crl} the
 * revocation, because these change while the certificate does not; {@link TlsTrust} checks all
 * three.
 */
public sealed interface Identity {
  /** Extended key usage: TLS server. */
  String SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

  /** Extended key usage: TLS client. */
  String CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

  /**
   * Is a node.
   *
   * @param id its id
   */
  record Node(NodeId id) implements Identity {}

  /**
   * Is a user.
   *
   * @param name the name in the certificate, never empty
   */
  record User(String name) implements Identity {}

  /**
   * Verifies a certificate and returns its node or user.
   *
   * @throws IdentityException if it has neither, naming the broken rule
   */
  static Identity verify(X509Certificate certificate, X509Certificate ca) {
    return usages(certificate).contains(SERVER_AUTH)
        ? new Node(verifyNode(certificate, ca))
        : new User(verifyUser(certificate, ca));
  }

  /**
   * Verifies a certificate and returns its node.
   *
   * @throws IdentityException naming the broken rule
   */
  static NodeId verifyNode(X509Certificate certificate, X509Certificate ca) {
    verifyIssued(certificate, ca, SERVER_AUTH, "node");
    NodeId id = NodeId.of(certificate.getPublicKey());
    String name = commonName(certificate).orElse("");
    if (!id.text().equals(name)) {
      throw new IdentityException(
          "node certificate has CN \"" + name + "\", its key belongs to " + id);
    }
    List<String> names = dnsNames(certificate);
    if (!names.equals(List.of(id.text()))) {
      throw new IdentityException(
          "node certificate has DNS names " + names + ", its key belongs to " + id + " alone");
    }
    return id;
  }

  /**
   * Verifies a certificate and returns its user's name.
   *
   * @throws IdentityException naming the broken rule
   */
  static String verifyUser(X509Certificate certificate, X509Certificate ca) {
    verifyIssued(certificate, ca, CLIENT_AUTH, "user");
    return commonName(certificate)
        .filter(name -> !name.isBlank())
        .orElseThrow(
            () ->
                new IdentityException(
                    "user certificate has an empty CN; issue one with a user name"));
  }

  /**
   * Checks that this is a self-signed Ed25519 CA certificate that may sign certificates.
   *
   * @throws IdentityException naming the broken rule
   */
  static void verifyCa(X509Certificate ca) {
    requireEd25519(ca, "CA");
    if (ca.getBasicConstraints() < 0) {
      throw new IdentityException("CA certificate " + subject(ca) + " is not marked as a CA");
    }
    boolean[] usage = ca.getKeyUsage();
    if (usage == null || !usage[5]) {
      throw new IdentityException("CA certificate " + subject(ca) + " may not sign certificates");
    }
    verifySignature(ca, ca, "CA");
  }

  /**
   * Checks that the authority signed this certificate, whatever its names.
   *
   * @throws IdentityException naming the broken rule
   */
  static void verifySignedBy(X509Certificate certificate, X509Certificate ca) {
    verifyLeaf(certificate, ca, "peer");
  }

  /**
   * Checks that the authority signed this certificate for servers of a DNS name.
   *
   * @throws IdentityException naming the broken rule
   */
  static void verifyServer(X509Certificate certificate, X509Certificate ca, String name) {
    verifyIssued(certificate, ca, SERVER_AUTH, "server");
    List<String> names = dnsNames(certificate);
    if (!names.contains(name)) {
      throw new IdentityException(
          "server certificate %s is for %s, dialled was \"%s\""
              .formatted(subject(certificate), names, name));
    }
  }

  /** Returns the CN of the subject, if it has one. */
  static Optional<String> commonName(X509Certificate certificate) {
    return ofSubject(certificate, "CN").stream().findFirst();
  }

  /** Returns the organizations of the subject; empty if it names none. */
  static List<String> organizations(X509Certificate certificate) {
    return ofSubject(certificate, "O");
  }

  private static List<String> ofSubject(X509Certificate certificate, String type) {
    try {
      // LdapName counts from the right, which is where X.500 starts.
      return new LdapName(certificate.getSubjectX500Principal().getName())
          .getRdns().stream()
              .filter(rdn -> rdn.getType().equalsIgnoreCase(type))
              .map(Rdn::getValue)
              .map(Object::toString)
              .toList();
    } catch (InvalidNameException e) {
      throw new IdentityException(
          "subject of certificate cannot be read: " + subject(certificate), e);
    }
  }

  /** Returns the DNS names of the certificate, in order, without other kinds of names. */
  static List<String> dnsNames(X509Certificate certificate) {
    // 2 is dNSName in RFC 5280, 4.2.1.6.
    return names(certificate, 2);
  }

  /** Returns the IP addresses of the certificate. */
  static Set<InetAddress> addresses(X509Certificate certificate) {
    // 7 is iPAddress in RFC 5280, 4.2.1.6.
    return names(certificate, 7).stream().map(InetAddress::ofLiteral).collect(Collectors.toSet());
  }

  private static List<String> names(X509Certificate certificate, int kind) {
    try {
      Collection<List<?>> names = certificate.getSubjectAlternativeNames();
      return names == null
          ? List.of()
          : names.stream()
              .filter(name -> name.get(0).equals(kind))
              .map(name -> name.get(1).toString())
              .toList();
    } catch (CertificateParsingException e) {
      throw new IdentityException(
          "names of certificate cannot be read: " + subject(certificate), e);
    }
  }

  /**
   * Returns the extended key usages of the certificate as object identifiers; empty if it has none.
   */
  static List<String> usages(X509Certificate certificate) {
    try {
      List<String> usages = certificate.getExtendedKeyUsage();
      return usages == null ? List.of() : usages;
    } catch (CertificateParsingException e) {
      throw new IdentityException(
          "usages of certificate cannot be read: " + subject(certificate), e);
    }
  }

  private static void verifyIssued(
      X509Certificate certificate, X509Certificate ca, String usage, String kind) {
    verifyLeaf(certificate, ca, kind);
    if (!usages(certificate).equals(List.of(usage))) {
      throw new IdentityException(
          "not a %s certificate: %s has key usages %s, a %s has %s alone"
              .formatted(kind, subject(certificate), usages(certificate), kind, usage));
    }
  }

  private static void verifyLeaf(X509Certificate certificate, X509Certificate ca, String kind) {
    verifyCa(ca);
    requireEd25519(certificate, kind);
    if (certificate.getBasicConstraints() >= 0) {
      throw new IdentityException(kind + " certificate " + subject(certificate) + " is a CA");
    }
    verifySignature(certificate, ca, kind);
  }

  private static void verifySignature(
      X509Certificate certificate, X509Certificate ca, String kind) {
    if (!certificate.getIssuerX500Principal().equals(ca.getSubjectX500Principal())) {
      throw new IdentityException(
          "%s certificate %s is issued by %s, not by %s"
              .formatted(
                  kind, subject(certificate), certificate.getIssuerX500Principal(), subject(ca)));
    }
    try {
      certificate.verify(ca.getPublicKey());
    } catch (GeneralSecurityException e) {
      throw new IdentityException(
          "%s certificate %s is not signed by this %s"
              .formatted(kind, subject(certificate), subject(ca)),
          e);
    }
  }

  private static void requireEd25519(X509Certificate certificate, String kind) {
    if (!Ed25519.is(certificate.getPublicKey())) {
      throw new IdentityException(
          "%s certificate %s has a key of %s, only Ed25519 is taken"
              .formatted(kind, subject(certificate), certificate.getPublicKey().getAlgorithm()));
    }
  }

  private static String subject(X509Certificate certificate) {
    return "\"" + certificate.getSubjectX500Principal() + "\"";
  }
}
