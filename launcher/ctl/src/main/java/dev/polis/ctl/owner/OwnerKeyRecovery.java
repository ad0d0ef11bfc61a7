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
import dev.polis.pki.RecoveryProof;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.cluster.GetRecoveryChallengeRequest;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.OwnerKeysGrpc.OwnerKeysBlockingV2Stub;
import dev.polis.wire.cluster.RecoverOwnerKeyRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Replaces a lost or stolen owner's key by the proof of the recovery key. The files are those of a
 * rotation, which also finishes it: the new key is on the disk before the cluster hears of its
 * proof, and each of the two commands continues after an interruption of the other.
 */
final class OwnerKeyRecovery {

  private final Session session;
  private final CtlTarget target;
  private final OwnerKeyRotation rotation;
  private final Consumer<String> remark;

  /**
   * Creates a recovery.
   *
   * @param rotation knows the files of an interrupted call
   * @param remark receives which key an interrupted call has made
   */
  OwnerKeyRecovery(Session session, OwnerKeyRotation rotation, Consumer<String> remark) {
    this.session = session;
    this.target = session.target();
    this.rotation = rotation;
    this.remark = remark;
  }

  /**
   * Makes the new key, unless an interrupted call has made it, and has the cluster accept it.
   *
   * @param file where the recovery key is
   * @param pem its text
   * @return the certificate of the new key
   */
  X509Certificate run(CaBundle ca, Path file, String pem) throws InterruptedException {
    OwnerKey.Form form = form();
    Optional<X509Certificate> continued = rotation.continued(ca);
    if (continued.isPresent()) {
      return continued.get();
    }
    boolean begun = rotation.isBegun();
    KeyPair next = begun ? rotation.next() : Ed25519.generate();
    OwnerKeysBlockingV2Stub stub = as(next, ca);
    RecoverOwnerKeyRequest request = request(stub, ca, next, file, pem);
    if (begun) {
      remark.accept(
          "a rotation or a recovery was interrupted before the cluster accepted the new key; it continues with that key, in %s"
              .formatted(target.nextOwnerKey()));
    } else {
      OwnerKeyFile.write(target.nextOwnerKey(), next.getPrivate(), form);
    }
    try {
      return OwnerCertificate.answered(
          session.call(() -> stub.recoverOwnerKey(request)).getOwnerCertificate());
    } catch (CtlException failed) {
      // The end of the connection may have met the answer.
      return rotation.accepted(ca).orElseThrow(() -> refused(failed, begun));
    }
  }

  /** Returns the form of the present key, which may be lost; refuses a file that holds none. */
  private OwnerKey.Form form() {
    if (Files.notExists(target.ownerKey())) {
      return OwnerKey.Form.METROPOLIS;
    }
    String remedy = "move it away and repeat the command, which makes another key";
    String pem = CtlFiles.read(target.ownerKey(), remedy);
    if (OwnerKeyRotation.isErased(pem)) {
      return OwnerKey.Form.METROPOLIS;
    }
    CtlFiles.parse(target.ownerKey(), pem, OwnerKey::read, "Ed25519 key", remedy);
    return OwnerKey.form(pem);
  }

  private OwnerKeysBlockingV2Stub as(KeyPair next, CaBundle ca) {
    return session.limited(
        OwnerKeysGrpc.newBlockingV2Stub(
            session.curator(ca, trust -> RpcClients.ephemeral(next, trust))));
  }

  private RecoverOwnerKeyRequest request(
      OwnerKeysBlockingV2Stub stub, CaBundle ca, KeyPair next, Path file, String pem)
      throws InterruptedException {
    GetRecoveryChallengeRequest question =
        GetRecoveryChallengeRequest.newBuilder()
            .setNewKey(ByteString.copyFrom(Ed25519.raw(next.getPublic())))
            .build();
    GetRecoveryChallengeResponse given = session.call(() -> stub.getRecoveryChallenge(question));
    byte[] answer = RecoveryKeyFile.answer(file, pem, given);
    try {
      RecoveryProof proof =
          RecoveryProof.ofOwner(
              ca.issuing().getPublicKey(), next.getPublic(), given.getChallenge().toByteArray());
      return RecoverOwnerKeyRequest.newBuilder()
          .setChallenge(given.getChallenge())
          .setProof(ByteString.copyFrom(proof.by(answer)))
          .build();
    } finally {
      Arrays.fill(answer, (byte) 0);
    }
  }

  private CtlException refused(CtlException failed, boolean begun) {
    return begun
        ? new CtlException(
            failed.exitCode(),
            "%s; if the new key in %s was the owner's before, remove that file and repeat the command, which makes another one"
                .formatted(failed.getMessage(), target.nextOwnerKey()),
            failed)
        : failed;
  }
}
