package dev.polis.pki;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Holds the CAs that a cluster trusts: one, or two while one replaces the other. A node that was
 * away during a rotation has a third one, until it knows the newest revocation list and has a new
 * certificate. The first one issues certificates. Immutable.
 *
 * @param certificates the self-signed certificates of the CAs
 */
public record CaBundle(List<X509Certificate> certificates) {
  /** The two of a rotation, and the one that a node had before; more would be needless trust. */
  private static final int MOST = 3;

  /** Refuses a certificate that is no CA, and another number than one to three. */
  public CaBundle {
    certificates = List.copyOf(certificates);
    if (certificates.isEmpty() || certificates.size() > MOST) {
      throw new PkiException(
          "a cluster trusts one CA, two during a rotation, or three after a missed one, but %d are given"
              .formatted(certificates.size()));
    }
    certificates.forEach(Identity::verifyCa);
  }

  /** Returns a bundle with one CA. */
  public static CaBundle of(X509Certificate ca) {
    return new CaBundle(List.of(ca));
  }

  /** Reads a bundle from the PEM texts of its certificates, one after the other. */
  public static CaBundle fromPem(String pem) {
    return new CaBundle(Pem.certificates(pem));
  }

  /** Returns the PEM texts of the certificates, one after the other. */
  public String pem() {
    return certificates.stream().map(Pem::encode).collect(Collectors.joining());
  }

  /** Returns the certificates in an order that does not depend on which of them issues. */
  public List<X509Certificate> sorted() {
    return certificates.stream()
        .sorted(Comparator.comparing(ca -> Fingerprint.of(ca).hex()))
        .toList();
  }

  /**
   * Returns the PEM texts of {@link #sorted}, for a program that only reads which CAs there are.
   */
  public String sortedPem() {
    return sorted().stream().map(Pem::encode).collect(Collectors.joining());
  }

  /** Returns the file of {@link #pem}. */
  public byte[] pemBytes() {
    return pem().getBytes(StandardCharsets.UTF_8);
  }

  /** Returns the fingerprints of the certificates, that of the issuing CA first. */
  public List<String> fingerprints() {
    return certificates.stream().map(ca -> Fingerprint.of(ca).hex()).toList();
  }

  /** Returns the CA that issues certificates. */
  public X509Certificate issuing() {
    return certificates.getFirst();
  }

  /** Returns the CA that signed a certificate; the issuing one if none of them did. */
  public X509Certificate issuerOf(X509Certificate certificate) {
    return certificates.stream()
        .filter(ca -> signed(certificate, ca.getPublicKey()))
        .findFirst()
        .orElse(issuing());
  }

  /** Returns whether one of the CAs signed a certificate. */
  public boolean issued(X509Certificate certificate) {
    return certificates.stream().anyMatch(ca -> signed(certificate, ca.getPublicKey()));
  }

  /** Returns whether the issuing CA signed a certificate. */
  public boolean isCurrent(X509Certificate certificate) {
    return signed(certificate, issuing().getPublicKey());
  }

  /** Returns whether the bundle has a CA, by its key. */
  public boolean contains(X509Certificate ca) {
    return certificates.stream().anyMatch(each -> each.getPublicKey().equals(ca.getPublicKey()));
  }

  /** Returns whether both bundles have a CA in common, as those of one cluster have. */
  public boolean sharesWith(CaBundle other) {
    return certificates.stream().anyMatch(other::contains);
  }

  /**
   * Returns the trust that follows from the proofs of successors: with the newest CA too, if a
   * chain of links leads to it from a CA of this bundle. A link is the key of a CA, certified by
   * the CA before it. The CA before the newest one may still issue, so that is trusted, too, if it
   * is in this bundle or in the proof.
   *
   * @param succession the oldest first: a link and the certificate of the CA with its key in turn;
   *     a former node gives the links first, then the certificate of the newest CA alone
   * @throws IdentityException if no chain leads from this bundle to the newest CA
   */
  public CaBundle learn(List<X509Certificate> succession) {
    if (succession.isEmpty()) {
      return this;
    }
    X509Certificate newest = succession.getLast();
    if (contains(newest)) {
      return this;
    }
    List<X509Certificate> known = new ArrayList<>(certificates);
    for (X509Certificate link : succession.subList(0, succession.size() - 1)) {
      if (link.getBasicConstraints() >= 0
          && known.stream().anyMatch(each -> signed(link, each.getPublicKey()))) {
        known.add(link);
      }
    }
    X509Certificate last =
        known.stream()
            .filter(each -> each.getPublicKey().equals(newest.getPublicKey()))
            .findFirst()
            .orElseThrow(
                () ->
                    new IdentityException(
                        "no CA that is trusted here has certified the CA %s; it belongs to another cluster, or its proof is missing"
                            .formatted(Fingerprint.of(newest))));
    Stream<X509Certificate> before =
        known.stream()
            .filter(each -> signed(each, each.getPublicKey()) && signed(last, each.getPublicKey()))
            .limit(1);
    return new CaBundle(
        Stream.of(Stream.of(issuing()), before, Stream.of(newest))
            .flatMap(each -> each)
            .distinct()
            .toList());
  }

  /** Returns a bundle with another CA at its end, for which the oldest may have to give way. */
  CaBundle with(X509Certificate other) {
    return new CaBundle(
        Stream.concat(
                certificates.stream().skip(Math.max(0, certificates.size() + 1 - MOST)),
                Stream.of(other))
            .toList());
  }

  /**
   * Returns the trust that follows from a revocation list: its signer issues from now on, and a CA
   * that it names is trusted no more.
   *
   * @throws IdentityException if none of the CAs signed the list
   */
  public CaBundle follow(Crl list) {
    X509Certificate signer = signerOf(list);
    return new CaBundle(
        Stream.concat(Stream.of(signer), certificates.stream().filter(ca -> !ca.equals(signer)))
            .filter(ca -> ca.equals(signer) || !list.revokes(ca))
            .toList());
  }

  /**
   * Returns the CA that signed a revocation list.
   *
   * @throws IdentityException if none of them did
   */
  public X509Certificate signerOf(Crl list) {
    Optional<X509Certificate> signer = certificates.stream().filter(list::isSignedBy).findFirst();
    return signer.orElseGet(
        () -> {
          list.verify(issuing());
          return issuing();
        });
  }

  private static boolean signed(X509Certificate certificate, PublicKey ca) {
    try {
      certificate.verify(ca);
      return true;
    } catch (GeneralSecurityException other) {
      return false;
    }
  }

  @Override
  public String toString() {
    return "CaBundle"
        + certificates.stream().map(Fingerprint::of).map(Fingerprint::toString).toList();
  }
}
