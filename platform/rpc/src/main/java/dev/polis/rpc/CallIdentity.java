package dev.polis.rpc;

import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Identity;
import dev.polis.pki.IdentityException;
import io.grpc.Attributes;
import io.grpc.Grpc;
import java.security.GeneralSecurityException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/**
 * Determines who is at the other end of a connection. TLS has proved that the peer holds the key of
 * the certificate it showed; what the certificate is worth is decided here, for each call anew, so
 * that a change of trust also reaches connections that are open. That decision in the call, not in
 * the handshake, is also what lets a refusal be told in words.
 */
final class CallIdentity {
  /**
   * Keeps the results for this many callers, since verifying two signatures takes half a
   * millisecond.
   */
  private static final int REMEMBERED = 1024;

  /** About what consensus takes to answer after a start, and with it the list. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  private static final String CONNECT_WITH = "connect with a certificate that this cluster issued";

  /** Describes who calls. */
  sealed interface Caller {
    RpcPeer peer();

    /** Returns why the peer is not a member of the cluster; empty if it is. */
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
   * @param certificate what it showed
   */
  private record Member(RpcPeer peer, X509Certificate certificate) implements Caller {
    @Override
    public String reason() {
      return "";
    }
  }

  /**
   * Holds the CA and what it has revoked.
   *
   * @param ca null until it is known
   */
  private record Trust(X509Certificate ca, RpcRevocations revocations) {
    static final Trust NOBODY = new Trust(null, new RpcRevocations.None());

    boolean revokes(X509Certificate certificate) {
      return revocations instanceof RpcRevocations.Known(Crl list) && list.revokes(certificate);
    }
  }

  private final InstantSource clock;
  private final Map<X509Certificate, Caller> remembered = new Recent();
  private volatile Trust trust = Trust.NOBODY;

  CallIdentity(InstantSource clock) {
    this.clock = clock;
  }

  void trust(X509Certificate ca) {
    Trust now = trust;
    replace(new Trust(ca, ca.equals(now.ca()) ? now.revocations() : new RpcRevocations.None()));
  }

  /**
   * Trusts a CA, with what the disk says of revoked certificates, and returns what is in force: a
   * list that came from consensus since is not replaced by an older one.
   */
  RpcRevocations trust(X509Certificate ca, RpcRevocations read) {
    if (read instanceof RpcRevocations.Known(Crl list)) {
      list.verify(ca);
    }
    Trust now = trust;
    RpcRevocations inForce = ca.equals(now.ca()) ? newer(now.revocations(), read) : read;
    replace(new Trust(ca, inForce));
    return inForce;
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

  void trustNobody() {
    replace(Trust.NOBODY);
  }

  void revoke(Crl list) {
    X509Certificate ca = trust.ca();
    if (ca == null) {
      throw new IllegalStateException(
          "a revocation list came before credentials; call identify first");
    }
    replace(new Trust(ca, new RpcRevocations.Known(list.verify(ca))));
  }

  private void replace(Trust next) {
    synchronized (remembered) {
      trust = next;
      remembered.clear();
    }
  }

  Optional<Crl> revocations() {
    return trust.revocations().inForce();
  }

  /** Returns whether the certificate of a member was revoked since its call was admitted. */
  boolean revoked(Caller caller) {
    return caller instanceof Member member && trust.revokes(member.certificate());
  }

  /**
   * Returns who calls.
   *
   * @throws RpcException UNAUTHENTICATED if the peer showed something that nobody may show: several
   *     certificates, another kind of key, a revoked certificate
   */
  Caller identify(Attributes connection) {
    SSLSession session = connection.get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    if (session == null) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(),
          "this listener speaks plain text and cannot tell who calls; use a TLS listener");
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

  /** Returns whether the peer of a connection is a member of the cluster at this moment. */
  boolean isMember(SSLSession session) {
    try {
      return judge(only(session.getPeerCertificates())) instanceof Member;
    } catch (SSLPeerUnverifiedException | RpcException stranger) {
      return false;
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
          "a certificate with a key of %s was shown, only Ed25519 is taken"
              .formatted(chain[0].getPublicKey().getAlgorithm()));
    }
    return certificate;
  }

  private Caller judge(X509Certificate certificate) {
    Trust now = trust;
    Caller caller = remembered(certificate, now);
    if (caller instanceof Stranger) {
      return caller;
    }
    if (now.revocations() instanceof RpcRevocations.Unknown unknown) {
      throw RpcException.unavailable(unknown.describe(), RETRY);
    }
    if (now.revokes(certificate)) {
      throw RpcException.unauthenticated(
          "the certificate of %s was revoked; it no longer belongs to this cluster"
              .formatted(caller.peer().describe()));
    }
    return expired(certificate)
        .map(reason -> Caller.stranger(RpcPeer.Unauthenticated.anonymous(), reason))
        .orElse(caller);
  }

  private Caller remembered(X509Certificate certificate, Trust now) {
    synchronized (remembered) {
      Caller known = remembered.get(certificate);
      if (known != null) {
        return known;
      }
    }
    Caller caller = verify(certificate, now);
    synchronized (remembered) {
      if (now == trust) {
        remembered.put(certificate, caller);
      }
    }
    return caller;
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
    try {
      RpcPeer peer =
          switch (Identity.verify(certificate, now.ca())) {
            case Identity.Node node -> new RpcPeer.Node(node.id());
            case Identity.User user -> new RpcPeer.User(user.name());
          };
      return new Member(peer, certificate);
    } catch (IdentityException e) {
      return Caller.stranger(
          RpcPeer.Unauthenticated.anonymous(), e.getMessage() + "; " + CONNECT_WITH);
    }
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

  private Optional<String> expired(X509Certificate certificate) {
    Instant now = clock.instant();
    Date from = certificate.getNotBefore();
    Date until = certificate.getNotAfter();
    if (now.isBefore(from.toInstant()) || now.isAfter(until.toInstant())) {
      return Optional.of(
          "the one shown is valid from %s until %s, and it is %s; renew it, or set the clock"
              .formatted(from.toInstant(), until.toInstant(), now));
    }
    return Optional.empty();
  }

  private static final class Recent extends LinkedHashMap<X509Certificate, Caller> {
    private static final long serialVersionUID = 1L;

    Recent() {
      super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<X509Certificate, Caller> eldest) {
      return size() > REMEMBERED;
    }
  }
}
