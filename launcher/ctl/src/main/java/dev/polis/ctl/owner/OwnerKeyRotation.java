package dev.polis.ctl.owner;

import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Session;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerKey;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.UserCredentials;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import io.grpc.Status;
import io.grpc.StatusException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Replaces the owner's key in a cluster and in the operator's folder. The new key is on the disk
 * before the cluster hears of it, in a file of its own, which stays until the last step: so after
 * an interruption at any step the file tells that a rotation has begun, and the cluster which key
 * it accepts.
 */
final class OwnerKeyRotation {

  private final Session session;
  private final CtlTarget target;
  private final Consumer<String> remark;

  /**
   * Creates a rotation.
   *
   * @param remark receives which key the cluster accepts, if a rotation was interrupted
   */
  OwnerKeyRotation(Session session, Consumer<String> remark) {
    this.session = session;
    this.target = session.target();
    this.remark = remark;
  }

  /**
   * Makes the new key, unless an interrupted rotation has made it, and has the cluster accept it.
   *
   * @param takeOwnership the command that gets the cluster's certificate
   * @return the certificate of the new key
   */
  X509Certificate run(String takeOwnership) throws InterruptedException {
    CaBundle ca = Session.authorities(target.clusterCa(), "take ownership first: " + takeOwnership);
    Optional<X509Certificate> continued = continued(ca);
    if (continued.isPresent()) {
      return continued.get();
    }
    if (isBegun()) {
      remark.accept(
          "a rotation or a recovery was interrupted before the cluster accepted the new key; it continues with that key, in %s"
              .formatted(target.nextOwnerKey()));
    } else {
      begin();
    }
    return rotate(ca);
  }

  /** Returns whether a rotation in this folder has made a new key, and has not ended. */
  boolean isBegun() {
    return Files.exists(target.nextOwnerKey());
  }

  /**
   * Asks whether the cluster accepts the new key of an interrupted rotation.
   *
   * @return its certificate; empty if there is no such rotation, or the cluster does not accept it
   */
  Optional<X509Certificate> continued(CaBundle ca) throws InterruptedException {
    Optional<X509Certificate> certificate = isBegun() ? accepted(ca) : Optional.empty();
    certificate.ifPresent(
        _ ->
            remark.accept(
                "the cluster accepts the new key of an interrupted rotation or recovery, in %s, and no longer the former one; the command continues"
                    .formatted(target.nextOwnerKey())));
    return certificate;
  }

  /** Returns the certificate of the new key; empty if the cluster does not accept that key. */
  Optional<X509Certificate> accepted(CaBundle ca) throws InterruptedException {
    try {
      return Optional.of(OwnerCertificate.fetch(session, next(), ca));
    } catch (CtlException refused) {
      if (isDenied(refused)) {
        return Optional.empty();
      }
      throw refused;
    }
  }

  private static boolean isDenied(CtlException refused) {
    return refused.getCause() instanceof StatusException status
        && status.getStatus().getCode() == Status.Code.PERMISSION_DENIED;
  }

  private void begin() {
    OwnerKey.Form form = OwnerKeyFile.form(target.ownerKey());
    // Credentials that do not fit together are refused before anything is written.
    session.credentials();
    OwnerKeyFile.write(target.nextOwnerKey(), Ed25519.generate().getPrivate(), form);
  }

  /** Reads the new key. */
  KeyPair next() {
    PrivateKey key = OwnerKeyFile.read(target.nextOwnerKey(), "repeat the command");
    return new KeyPair(Ed25519.publicKey(key), key);
  }

  private X509Certificate rotate(CaBundle ca) throws InterruptedException {
    KeyPair next = next();
    RotateOwnerKeyRequest request = request(ca, session.credentials(), next);
    try {
      session.call(() -> session.ownerKeys().rotateOwnerKey(request));
    } catch (CtlException failed) {
      // The end of the present certificate, or of the connection, may have met the answer.
      return accepted(ca).orElseThrow(() -> failed);
    }
    return OwnerCertificate.fetch(session, next, ca);
  }

  private static RotateOwnerKeyRequest request(CaBundle ca, UserCredentials present, KeyPair next) {
    PublicKey presentKey = present.certificate().getPublicKey();
    OwnerRotation rotation =
        new OwnerRotation(ca.issuing().getPublicKey(), presentKey, next.getPublic());
    return RotateOwnerKeyRequest.newBuilder()
        .setPresentPublicKey(ByteString.copyFrom(Ed25519.raw(presentKey)))
        .setNewPublicKey(ByteString.copyFrom(Ed25519.raw(next.getPublic())))
        .setPresentSignature(ByteString.copyFrom(rotation.sign(present.privateKey())))
        .setNewSignature(ByteString.copyFrom(rotation.sign(next.getPrivate())))
        .build();
  }

  /**
   * Puts the new key and its certificate in the place of the former ones, which the cluster no
   * longer accepts.
   *
   * @param erase erases the former key instead of setting it aside
   * @return where the former key is; empty if it is erased
   */
  Optional<Path> finish(X509Certificate certificate, boolean erase) {
    Optional<Path> former = erase ? Optional.empty() : setAside();
    CtlFiles.write(target.ownerCertificate(), OwnerCertificate.pem(certificate));
    if (erase && Files.exists(target.ownerKey())) {
      CtlFiles.erase(target.ownerKey(), "repeat the command");
    }
    CtlFiles.move(target.nextOwnerKey(), target.ownerKey());
    return former;
  }

  /** Returns whether an interrupted call has overwritten a key, to erase it. */
  static boolean isErased(String pem) {
    return pem.chars().allMatch(each -> each == 0);
  }

  private Optional<Path> setAside() {
    if (!Files.exists(target.ownerKey())) {
      return Optional.empty();
    }
    String pem = CtlFiles.read(target.ownerKey(), "repeat the command");
    if (isErased(pem)) {
      return Optional.empty();
    }
    PrivateKey key = OwnerKeyFile.read(target.ownerKey(), "repeat the command");
    Path former = target.formerOwnerKey(Ed25519.publicKey(key));
    OwnerKeyFile.write(former, key, OwnerKey.form(pem));
    return Optional.of(former);
  }
}
