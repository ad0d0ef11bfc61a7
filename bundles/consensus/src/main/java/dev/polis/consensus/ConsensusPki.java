package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusOverview.OperatorFiles;
import dev.polis.base.digest.Sha256;
import dev.polis.etcd.EtcdTls;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.Renewal;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes and renews the keys and certificates of the member: the etcd CA, etcd's own certificate,
 * and one for each user. Each instance makes its own certificates for users and keeps them in
 * memory; only the root user's is on the disk, for {@code etcdctl}. Thread-safe.
 *
 * <p>While one CA replaces another, the file of the CA holds both, and the key says which of them
 * issues. So each step of {@link CaRotation} replaces one file. An instance keeps the CAs that it
 * has read; the next run of the member reads them again.
 */
final class ConsensusPki {

  static final String CA_NAME = "Polis etcd CA";

  /**
   * The name in each member's certificate and in no user's, by which etcd accepts peers. The
   * certificates of all earlier versions have it, too.
   */
  static final String MEMBER = "localhost";

  /**
   * The life of a certificate: a year, with a renewal four months before the end, so that a client
   * with long connections has time to reconnect.
   */
  private static final Duration LIFETIME = Duration.ofDays(365);

  /** The kind of a name that is an IP address (RFC 5280). */
  private static final Integer IP_ADDRESS = 7;

  // 64 random bits distinguish all clusters that will ever share a network.
  private static final int TOKEN_BYTES = 8;

  private final ConsensusFiles files;
  private final CertificateAuthority authority;
  private final CaBundle trusted;
  private final InstantSource clock;
  private final Map<ConsensusUser, EtcdTls> users = new EnumMap<>(ConsensusUser.class);

  /** The reason for the replacement of etcd's key on the disk, or null. */
  private String replacedOrNull;

  private ConsensusPki(
      ConsensusFiles files, CertificateAuthority authority, CaBundle trusted, InstantSource clock) {
    this.files = files;
    this.authority = authority;
    this.trusted = trusted;
    this.clock = clock;
  }

  /**
   * Reads the CA, or creates it.
   *
   * @param mayCreate true if no member has written data under a CA yet
   * @throws ConsensusException if the CA is missing, broken or incomplete, and a new one is not
   *     allowed
   */
  static ConsensusPki open(ConsensusFiles files, boolean mayCreate, InstantSource clock)
      throws FileException {
    boolean whole = files.ca().exists() && files.caKey().exists();
    if (!whole && !mayCreate) {
      FilePlacement missing = files.ca().exists() ? files.caKey() : files.ca();
      throw new ConsensusException(
          ("%s is missing, but etcd has data written under this CA; restore the file from a copy"
                  + " of this disk; the node changed nothing")
              .formatted(missing.path()));
    }
    return whole ? read(files, clock) : create(files, clock);
  }

  private static ConsensusPki create(ConsensusFiles files, InstantSource clock)
      throws FileException {
    var made = CertificateAuthority.create(CertificateTemplate.authority(CA_NAME), clock);
    files.caKey().write(bytes(Pem.encode(made.privateKey())));
    files.ca().write(bytes(Pem.encode(made.certificate())));
    return new ConsensusPki(files, made, CaBundle.of(made.certificate()), clock);
  }

  /** Stores the CA of an invitation. */
  static void store(ConsensusFiles files, ConsensusInvitation invitation) throws FileException {
    files.caKey().write(bytes(Pem.encode(invitation.caKey())));
    files.ca().write(bytes(Pem.encode(invitation.ca())));
  }

  /** Returns whether the disk has the CA of an invitation. */
  static boolean isStored(ConsensusFiles files, ConsensusInvitation invitation) {
    return holds(files.caKey(), Pem.encode(invitation.caKey()))
        && holds(files.ca(), Pem.encode(invitation.ca()));
  }

  private static boolean holds(FilePlacement file, String text) {
    return file.read() instanceof Stored.Present<byte[]>(var _, byte[] content)
        && string(content).equals(text);
  }

  private static ConsensusPki read(ConsensusFiles files, InstantSource clock) throws FileException {
    try {
      PrivateKey key = Pem.privateKey(text(files.caKey()));
      CaBundle stored = CaBundle.fromPem(text(files.ca()));
      X509Certificate issuing =
          stored.certificates().stream()
              .filter(ca -> Ed25519.match(key, ca.getPublicKey()))
              .findFirst()
              .orElse(stored.issuing());
      return new ConsensusPki(
          files,
          new CertificateAuthority(key, issuing, clock),
          new CaBundle(
              Stream.concat(Stream.of(issuing), stored.certificates().stream())
                  .distinct()
                  .toList()),
          clock);
    } catch (PkiException broken) {
      throw new ConsensusException(
          "the node cannot use the etcd CA in %s and %s: %s; restore both files from a copy of this disk; the node changed nothing"
              .formatted(files.ca().path(), files.caKey().path(), broken.getMessage()),
          broken);
    }
  }

  CertificateAuthority authority() {
    return authority;
  }

  /** Returns the CAs that the member trusts; the first one issues. */
  CaBundle trusted() {
    return trusted;
  }

  /**
   * Returns a token that no other cluster has. It changes only with the trusted CAs: etcd reads
   * them at its start alone, and a process with another command line is replaced. A member with
   * data ignores it.
   */
  String token() {
    return token(trusted);
  }

  /**
   * Returns the token of a member on the disk, without its CA's key.
   *
   * @throws PkiException if the CA's certificate cannot be parsed
   */
  static String token(ConsensusFiles files) throws FileException {
    return token(CaBundle.fromPem(text(files.ca())));
  }

  private static String token(CaBundle trusted) {
    MessageDigest digest = Sha256.begin();
    trusted.sorted().forEach(ca -> digest.update(Pem.der(ca)));
    return "POLIS-" + HexFormat.of().formatHex(digest.digest(), 0, TOKEN_BYTES);
  }

  /** Writes the CAs that the next run of the member trusts. */
  void trust(CaBundle next) throws FileException {
    files.ca().write(bytes(next.sortedPem()));
  }

  /** Writes the key of the trusted CA that issues from the next run on. */
  void issueBy(CertificateAuthority next) throws FileException {
    files.caKey().write(bytes(Pem.encode(next.privateKey())));
  }

  /**
   * Writes etcd's own key and certificate, and the CA, unless the files on the disk still fit. etcd
   * reads its certificate at each handshake, so a renewal needs no restart. etcd does not get the
   * node's key, which an attacker inside etcd could read; an earlier version shared it.
   *
   * @return whether it wrote a file
   */
  boolean ensureMember(ConsensusIdentity identity, InetAddress address) throws FileException {
    EtcdFiles.PeerPki target = files.etcd().peerPki();
    boolean written = replace(target.ca(), trusted.sortedPem());
    Optional<PublicKey> present = memberKey(target.key(), identity);
    written |= present.isEmpty();
    PublicKey key = present.isPresent() ? present.get() : makeMemberKey(target.key());
    if (!fits(target.certificate(), identity, key, address)) {
      var template =
          CertificateTemplate.peer(
              identity.node().text(),
              List.of(identity.node().text(), MEMBER),
              List.copyOf(
                  new LinkedHashSet<>(List.of(address, InetAddress.ofLiteral("127.0.0.1")))));
      X509Certificate certificate = authority.issue(template.withLifetime(LIFETIME), key);
      target.certificate().write(bytes(Pem.encode(certificate)));
      written = true;
    }
    return written;
  }

  /** Reads etcd's key; returns empty if there is none, or if it is the node's key. */
  private Optional<PublicKey> memberKey(FilePlacement file, ConsensusIdentity identity)
      throws FileException {
    return switch (file.read()) {
      case Stored.Present<byte[]>(var _, byte[] pem) -> {
        try {
          yield Optional.of(Ed25519.publicKey(Pem.privateKey(string(pem))))
              .filter(key -> !key.equals(identity.publicKey()));
        } catch (PkiException useless) {
          // The key is replaceable, like a certificate.
          replacedOrNull = "%s held no key of etcd (%s)".formatted(file, useless.getMessage());
          yield Optional.empty();
        }
      }
      case Stored.Unreadable<byte[]> unreadable -> throw unreadable.cause();
      case Stored.None<byte[]> _, Stored.Corrupted<byte[]> _ -> Optional.empty();
    };
  }

  /** Returns the fault of etcd's former key on the disk, if it was replaced. */
  Optional<String> replaced() {
    return Optional.ofNullable(replacedOrNull);
  }

  private static PublicKey makeMemberKey(FilePlacement file) throws FileException {
    KeyPair made = Ed25519.generate();
    file.write(bytes(Pem.encode(made.getPrivate())));
    return made.getPublic();
  }

  /** Writes the root user's key and certificate for an operator, unless valid ones exist. */
  void ensureOperator() throws FileException {
    if (good(files.root(), _ -> true) && files.rootKey().exists()) {
      return;
    }
    EtcdTls root = user(ConsensusUser.ROOT);
    // The certificate is written last, so its key exists if it is valid.
    files.root().delete();
    files.rootKey().write(bytes(Pem.encode(root.key())));
    files.root().write(bytes(Pem.encode(root.chain().getFirst())));
  }

  OperatorFiles operatorFiles() {
    return operatorFiles(files);
  }

  static OperatorFiles operatorFiles(ConsensusFiles files) {
    return new OperatorFiles(
        files.ca().path().toString(),
        files.root().path().toString(),
        files.rootKey().path().toString());
  }

  /** Returns the key and certificate of a user. */
  synchronized EtcdTls user(ConsensusUser user) {
    return users.computeIfAbsent(user, this::issue);
  }

  /**
   * Drops the users' certificates that are due for renewal; the next access makes new ones.
   *
   * @return whether any was due
   */
  synchronized boolean renewUsers() {
    return users.values().removeIf(tls -> Renewal.of(tls.chain().getFirst()).due(clock.instant()));
  }

  private EtcdTls issue(ConsensusUser user) {
    KeyPair pair = Ed25519.generate();
    X509Certificate certificate =
        authority.issue(
            CertificateTemplate.client(user.userName()).withLifetime(LIFETIME), pair.getPublic());
    return new EtcdTls(trusted.certificates(), pair.getPrivate(), List.of(certificate));
  }

  private boolean fits(
      FilePlacement file, ConsensusIdentity identity, PublicKey key, InetAddress address)
      throws FileException {
    return good(
        file,
        certificate ->
            certificate.getPublicKey().equals(key)
                && names(certificate)
                    .map(name -> name.get(1))
                    .collect(Collectors.toSet())
                    .containsAll(Set.of(identity.node().text(), MEMBER, address.getHostAddress())));
  }

  private boolean good(FilePlacement file, Predicate<X509Certificate> more) throws FileException {
    return switch (file.read()) {
      case Stored.Present<byte[]>(var _, byte[] pem) -> {
        try {
          X509Certificate certificate = Pem.certificate(string(pem));
          certificate.verify(authority.certificate().getPublicKey());
          Renewal renewal = Renewal.of(certificate);
          yield !renewal.due(clock.instant())
              && !renewal.invalid(clock.instant())
              && more.test(certificate);
        } catch (PkiException | GeneralSecurityException useless) {
          // The CA can always issue another certificate, so the loss does no harm.
          yield false;
        }
      }
      case Stored.Unreadable<byte[]> unreadable -> throw unreadable.cause();
      case Stored.None<byte[]> _, Stored.Corrupted<byte[]> _ -> false;
    };
  }

  /** Returns the alternative names, each as its kind and its text. */
  private static Stream<List<?>> names(X509Certificate certificate) {
    try {
      return Stream.ofNullable(certificate.getSubjectAlternativeNames())
          .flatMap(Collection::stream);
    } catch (CertificateParsingException broken) {
      throw new PkiException("the alternative names cannot be read", broken);
    }
  }

  /**
   * Returns the address of the member's last start, which etcd's certificate names first, if it is
   * another one; empty also if the file does not tell.
   */
  static Optional<InetAddress> formerAddress(ConsensusFiles files, InetAddress now)
      throws FileException {
    if (!(files.etcd().peerPki().certificate().read()
        instanceof Stored.Present<byte[]>(var _, byte[] pem))) {
      return Optional.empty();
    }
    try {
      return names(Pem.certificate(string(pem)))
          .filter(name -> name.getFirst().equals(IP_ADDRESS))
          .map(name -> InetAddress.ofLiteral((String) name.get(1)))
          .findFirst()
          .filter(former -> !former.equals(now));
    } catch (PkiException useless) {
      return Optional.empty(); // the start makes another certificate
    }
  }

  private static boolean replace(FilePlacement file, String content) throws FileException {
    if (file.read() instanceof Stored.Present<byte[]>(var _, byte[] old)
        && string(old).equals(content)) {
      return false;
    }
    file.write(bytes(content));
    return true;
  }

  private static String text(FilePlacement file) throws FileException {
    return string(file.read().orThrow());
  }

  private static String string(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
