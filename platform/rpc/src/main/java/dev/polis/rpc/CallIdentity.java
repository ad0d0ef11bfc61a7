package dev.polis.rpc;

import dev.polis.logtree.Log;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Identity;
import dev.polis.pki.IdentityException;
import io.grpc.Attributes;
import io.grpc.Grpc;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/**
 * Determines the caller at the other end of a connection. TLS has proved that the peer holds the
 * key of the certificate it showed; this class judges the certificate for each call, so that a
 * change of trust also reaches open connections. Since the call decides, not the handshake, a
 * refused caller gets the reason as text.
 */
final class CallIdentity {
  /**
   * Keeps the results for this many members, since verifying two signatures takes half a
   * millisecond.
   */
  private static final int REMEMBERED = 1024;

  /** The time that consensus takes to answer after a start, and with it the revocation list. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  private static final String RENEW =
      "the owner gets a new one with 'polisctl takeownership', an operator with 'polisctl operator take'";

  private static final String CONNECT_WITH = "connect with a certificate that this cluster issued";

  /** Describes a caller. */
  sealed interface Caller {
    RpcPeer peer();

    /** Returns the reason why the peer is not a member of the cluster; empty for a member. */
    String reason();

    static Caller stranger(RpcPeer.Unauthenticated peer, String reason) {
      return new Stranger(peer, reason);
    }

    static Caller unknown() {
      return stranger(RpcPeer.Unauthenticated.anonymous(), "not known yet");
    }
  }

  /** Is a caller that the cluster does not know. */
  private record Stranger(RpcPeer.Unauthenticated peer, String reason) implements Caller {}

  /**
   * Is a node or a user of the cluster.
   *
   * @param certificate the certificate that the caller showed
   * @param issuer the CA that signed it
   * @param from the time at which the certificate begins to be valid
   * @param until the time at which the certificate ends
   */
  private record Member(
      RpcPeer peer,
      X509Certificate certificate,
      X509Certificate issuer,
      Instant from,
      Instant until)
      implements Caller {
    static Member of(RpcPeer peer, X509Certificate certificate, X509Certificate issuer) {
      return new Member(
          peer,
          certificate,
          issuer,
          certificate.getNotBefore().toInstant(),
          certificate.getNotAfter().toInstant());
    }

    boolean isValid(Instant now) {
      return !now.isBefore(from) && !now.isAfter(until);
    }

    @Override
    public String reason() {
      return "";
    }
  }

  /**
   * Holds the CAs, the revocation list, the operators, and the callers whose certificates these CAs
   * have verified.
   *
   * @param ca null until they are known
   * @param callers the callers with the roles that these operators give
   */
  private record Trust(
      CaBundle ca, RpcRevocations revocations, RpcOperators operators, Callers callers) {
    static Trust nobody() {
      return new Trust(null, new RpcRevocations.None(), new RpcOperators.Unknown(), new Callers());
    }

    /** Returns the trust in CAs; those of another cluster than before know no operators. */
    Trust with(CaBundle other, RpcRevocations known) {
      if (other.equals(ca)) {
        return new Trust(other, known, operators, callers);
      }
      RpcOperators stay =
          ca == null || ca.sharesWith(other) ? operators : new RpcOperators.Unknown();
      return new Trust(other, known, stay, new Callers());
    }

    Trust with(RpcOperators others) {
      return others.equals(operators) ? this : new Trust(ca, revocations, others, new Callers());
    }

    boolean revokes(X509Certificate certificate) {
      return revocations instanceof RpcRevocations.Known(Crl list) && list.revokes(certificate);
    }

    /** Returns whether these are other CAs of the same cluster, which only a change may replace. */
    boolean isSameCluster(CaBundle other) {
      return ca != null && ca.sharesWith(other);
    }
  }

  private final InstantSource clock;
  private final Log log;
  private final LogBudget budget = LogBudget.ofRefusals();
  private volatile Trust trust = Trust.nobody(); // written by synchronized methods

  /**
   * @param log receives the exceptions of certificates that the JDK cannot read
   */
  CallIdentity(InstantSource clock, Log log) {
    this.clock = clock;
    this.log = log;
  }

  /** Trusts the CAs of a cluster, unless this node knows the present ones of that cluster. */
  synchronized void trust(CaBundle ca) {
    Trust now = trust;
    if (!now.isSameCluster(ca)) {
      trust = now.with(ca, new RpcRevocations.None());
    }
  }

  /**
   * Trusts CAs with the revocation list from the disk, and returns the list in force. An older list
   * does not replace one that has come from consensus.
   */
  synchronized RpcRevocations trust(CaBundle ca, RpcRevocations read) {
    if (read instanceof RpcRevocations.Known(Crl list)) {
      list.verify(ca);
    }
    Trust now = trust;
    boolean same = now.isSameCluster(ca);
    RpcRevocations inForce = same ? newer(now.revocations(), read) : read;
    trust = now.with(following(same ? now.ca() : ca, inForce), inForce);
    return inForce;
  }

  private static CaBundle following(CaBundle ca, RpcRevocations known) {
    return known instanceof RpcRevocations.Known(Crl list) ? ca.follow(list) : ca;
  }

  /** Replaces the CAs by others of the same cluster. */
  synchronized void replace(CaBundle ca) {
    Trust now = trust;
    if (!now.isSameCluster(ca)) {
      throw new IdentityException(
          "%s has no CA in common with those of this node; they belong to another cluster"
              .formatted(ca));
    }
    trust = now.with(ca, now.revocations());
  }

  /** Returns the CAs; empty before the credentials of the node. */
  Optional<CaBundle> authorities() {
    return Optional.ofNullable(trust.ca());
  }

  private static RpcRevocations newer(RpcRevocations present, RpcRevocations read) {
    if (!(present instanceof RpcRevocations.Known(Crl list))) {
      return read;
    }
    boolean later =
        read instanceof RpcRevocations.Known(Crl other)
            && other.number().compareTo(list.number()) > 0;
    return later ? read : present;
  }

  synchronized void trustNobody() {
    trust = Trust.nobody();
  }

  synchronized void revoke(Crl list) {
    Trust now = trust;
    if (now.ca() == null) {
      throw new IllegalStateException(
          "a revocation list came before credentials; call identify first");
    }
    trust = now.with(now.ca().follow(list), new RpcRevocations.Known(list));
  }

  /** Decides about users by this list of operators from now on. */
  synchronized void admit(RpcOperators operators) {
    trust = trust.with(operators);
  }

  Optional<Crl> revocations() {
    return trust.revocations().inForce();
  }

  /** Returns whether a certificate of the cluster was revoked, or has ended. */
  boolean lost(X509Certificate certificate) {
    Trust now = trust;
    return now.revokes(certificate)
        || now.ca() != null && !now.ca().issued(certificate)
        || clock.instant().isAfter(certificate.getNotAfter().toInstant());
  }

  /**
   * Returns the caller of a connection.
   *
   * @throws RpcException UNAUTHENTICATED if the peer showed something that is not allowed: several
   *     certificates, another kind of key, a revoked certificate
   */
  Caller identify(Attributes connection) {
    SSLSession session = connection.get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    if (session == null) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(),
          "this listener uses plain text and cannot identify callers; use a TLS listener");
    }
    Certificate[] chain;
    try {
      chain = session.getPeerCertificates();
    } catch (SSLPeerUnverifiedException none) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(), "none was shown; " + CONNECT_WITH);
    }
    return judge(only(chain));
  }

  /**
   * Returns the certificate of a peer that is a member of the cluster at this moment; empty for a
   * stranger.
   *
   * @param session null without TLS, where each peer is a stranger
   */
  Optional<X509Certificate> member(SSLSession session) {
    if (session == null) {
      return Optional.empty();
    }
    try {
      X509Certificate shown = only(session.getPeerCertificates());
      return judge(shown) instanceof Member ? Optional.of(shown) : Optional.empty();
    } catch (SSLPeerUnverifiedException | RpcException stranger) {
      return Optional.empty();
    }
  }

  private static X509Certificate only(Certificate[] chain) {
    if (chain.length != 1) {
      throw RpcException.unauthenticated(
          "%d certificates were shown, show exactly one".formatted(chain.length));
    }
    if (!(chain[0] instanceof X509Certificate certificate)
        || !Ed25519.is(certificate.getPublicKey())) {
      throw RpcException.unauthenticated(
          "the client showed a certificate with a key of %s; use Ed25519"
              .formatted(chain[0].getPublicKey().getAlgorithm()));
    }
    return certificate;
  }

  private Caller judge(X509Certificate certificate) {
    Trust now = trust;
    Caller caller =
        now.callers()
            .find(certificate)
            .orElseGet(() -> now.callers().add(certificate, verifyAnything(certificate, now)));
    if (!(caller instanceof Member member)) {
      return caller;
    }
    if (now.revocations() instanceof RpcRevocations.Unknown unknown) {
      throw RpcException.unavailable(unknown.describe(), RETRY);
    }
    requireUnrevoked(member);
    Instant time = clock.instant();
    return member.isValid(time) ? member : expired(member, time);
  }

  /**
   * Refuses a caller whose certificate was revoked.
   *
   * @throws RpcException UNAUTHENTICATED
   */
  void requireUnrevoked(Caller caller) {
    if (!(caller instanceof Member member)) {
      return;
    }
    Trust now = trust;
    if (now.revokes(member.issuer())) {
      throw RpcException.unauthenticated(
          "the certificate of %s is of a CA that this cluster has retired; %s"
              .formatted(caller.peer().describe(), RENEW));
    }
    if (now.revokes(member.certificate())) {
      throw RpcException.unauthenticated(
          "the certificate of %s was revoked; it no longer belongs to this cluster"
              .formatted(caller.peer().describe()));
    }
  }

  /**
   * Refuses a member whose certificate was revoked, or has ended, since its call was admitted.
   *
   * @throws RpcException UNAUTHENTICATED
   */
  void requireMember(Caller caller) {
    requireUnrevoked(caller);
    if (caller instanceof Member member && clock.instant().isAfter(member.until())) {
      throw RpcException.unauthenticated(ended(member, clock.instant()));
    }
  }

  /**
   * Returns the caller with its present rights: a list of operators may have changed those of a
   * user. It is the same object if they are the same.
   *
   * @throws RpcException UNAUTHENTICATED if the certificate was revoked
   */
  Caller present(Caller caller) {
    return caller instanceof Member member && member.peer() instanceof RpcPeer.User
        ? judge(member.certificate())
        : caller;
  }

  /**
   * Verifies any certificate, and treats the holder of an unreadable one as a stranger. An
   * exception would leave its connection without an end, and each of its calls an internal error.
   */
  private Caller verifyAnything(X509Certificate certificate, Trust now) {
    try {
      return verify(certificate, now);
    } catch (RuntimeException unforeseen) {
      budget.warn(
          log,
          "the node cannot read a caller's certificate, so the caller is a stranger",
          unforeseen);
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(), "the one shown cannot be read; " + CONNECT_WITH);
    }
  }

  private static Caller verify(X509Certificate certificate, Trust now) {
    if (selfSigned(certificate)) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.of(certificate.getPublicKey()),
          "a self-signed one was shown; " + CONNECT_WITH);
    }
    if (now.ca() == null) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(), "this node does not know its cluster yet");
    }
    X509Certificate issuer = now.ca().issuerOf(certificate);
    try {
      return switch (Identity.verify(certificate, issuer)) {
        case Identity.Node node -> Member.of(new RpcPeer.Node(node.id()), certificate, issuer);
        case Identity.User user -> user(user.name(), certificate, issuer, now.operators());
      };
    } catch (IdentityException e) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(),
          "%s; %s; if its CA was retired: %s".formatted(e.getMessage(), CONNECT_WITH, RENEW));
    }
  }

  private static Caller user(
      String name, X509Certificate certificate, X509Certificate issuer, RpcOperators operators) {
    PublicKey key = certificate.getPublicKey();
    return operators
        .role(name, key)
        .<Caller>map(
            role ->
                Member.of(
                    new RpcPeer.User(name, role, Ed25519.fingerprint(key)), certificate, issuer))
        .orElseGet(
            () -> Caller.stranger(RpcPeer.Unauthenticated.anonymous(), operators.refusal(name)));
  }

  private static boolean selfSigned(X509Certificate certificate) {
    if (!Arrays.equals(
        certificate.getSubjectX500Principal().getEncoded(),
        certificate.getIssuerX500Principal().getEncoded())) {
      return false;
    }
    try {
      certificate.verify(certificate.getPublicKey());
      return true;
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  private static Caller expired(Member member, Instant now) {
    return Caller.stranger(RpcPeer.Unauthenticated.anonymous(), ended(member, now));
  }

  private static String ended(Member member, Instant now) {
    return "the one shown is valid from %s until %s, and it is %s; renew it, or set the clock"
        .formatted(member.from(), member.until(), now);
  }

  /** Counts the certificates whose holders are remembered. */
  int remembered() {
    return trust.callers().size();
  }

  /**
   * Remembers the holders of certificates. It keeps a stranger as long as the stranger's connection
   * lives, and a limited number of members, of which it forgets the one met first.
   */
  private static final class Callers {
    private final Map<X509Certificate, Caller> members = new ConcurrentHashMap<>();
    private final Queue<X509Certificate> order = new ArrayDeque<>(); // guarded by this
    private final Map<X509Certificate, Caller> strangers =
        Collections.synchronizedMap(new WeakHashMap<>());

    Optional<Caller> find(X509Certificate certificate) {
      return Optional.ofNullable(members.get(certificate))
          .or(() -> Optional.ofNullable(strangers.get(certificate)));
    }

    synchronized Caller add(X509Certificate certificate, Caller caller) {
      if (!(caller instanceof Member)) {
        strangers.put(certificate, caller);
        return caller;
      }
      if (members.put(certificate, caller) == null) {
        order.add(certificate);
      }
      if (order.size() > REMEMBERED) {
        members.remove(order.remove());
      }
      return caller;
    }

    int size() {
      return members.size() + strangers.size();
    }
  }
}
