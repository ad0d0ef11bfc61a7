package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.Pem;
import dev.polis.pki.RecoveryKey;
import dev.polis.pki.RecoveryProof;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.cluster.GetRecoveryChallengeRequest;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.RecoverOwnerKeyRequest;
import dev.polis.wire.cluster.RecoverOwnerKeyResponse;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.RotateOwnerKeyResponse;
import dev.polis.wire.cluster.SetRecoveryKeyRequest;
import dev.polis.wire.cluster.SetRecoveryKeyResponse;
import dev.polis.wire.curator.stored.InitialOwner;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;

/**
 * Serves the OwnerKeys API: replaces the owner's key, for the owner or for the holder of the
 * recovery key. One transaction changes the record, revokes the certificates of the former key and
 * stores that of the new one, so no moment has two keys, or none. The owner proves the present key
 * by a signature: the caller's certificate may be that of a former key for the moment in which a
 * listener does not know the revocation yet. The holder of the recovery key needs no present key,
 * and none of the changes that a thief of it makes meanwhile, such as rotations, refuses a proof.
 */
public final class OwnerKeysApi extends OwnerKeysGrpc.OwnerKeysImplBase {

  private final LeaderGate gate;
  private final RecoveryChallenges challenges;

  /**
   * Creates the service.
   *
   * @param nanoTime a monotonic clock
   */
  public OwnerKeysApi(LeaderGate gate, SecureRandom random, LongSupplier nanoTime) {
    this.gate = gate;
    this.challenges = new RecoveryChallenges(random, nanoTime);
  }

  @Override
  public void rotateOwnerKey(
      RotateOwnerKeyRequest request, StreamObserver<RotateOwnerKeyResponse> caller) {
    PublicKey present = key("present_public_key", request.getPresentPublicKey());
    PublicKey next = key("new_public_key", request.getNewPublicKey());
    if (present.equals(next)) {
      throw Refusal.invalid("new_public_key is the present key; make another one");
    }
    ApiCalls.unary(gate, caller, term -> rotate(term, request, present, next));
  }

  private static PublicKey key(String field, ByteString raw) {
    if (raw.size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid(
          "%s has %d bytes; an Ed25519 key has %d", field, raw.size(), Ed25519.KEY_BYTES);
    }
    return Ed25519.publicKey(raw.toByteArray());
  }

  private static RotateOwnerKeyResponse rotate(
      LeaderTerm term, RotateOwnerKeyRequest request, PublicKey present, PublicKey next)
      throws InterruptedException {
    OwnerRotation rotation = new OwnerRotation(authority(term), present, next);
    requireSigned(rotation, present, "present_signature", request.getPresentSignature());
    requireSigned(rotation, next, "new_signature", request.getNewSignature());
    InitialOwner now = term.records().owner();
    X509Certificate issued =
        changed(now, request).equals(now)
            ? term.pki().ensureUser(AaaApi.OWNER, next)
            : replace(term, next, owner -> changed(owner, request));
    return RotateOwnerKeyResponse.newBuilder()
        .setOwnerCertificate(ByteString.copyFrom(Pem.der(issued)))
        .build();
  }

  /** Changes the owner's record, revokes the certificates of its former key, and issues one. */
  private static X509Certificate replace(
      LeaderTerm term, PublicKey next, UnaryOperator<InitialOwner> change)
      throws InterruptedException {
    OperatorRules.requireNoOperator(
        term.records().operators(), ByteString.copyFrom(Ed25519.raw(next)));
    return term.pki()
        .replaceUser(
            AaaApi.OWNER,
            next,
            (conditions, others) -> term.records().updateOwner(change, conditions, others));
  }

  private static void requireSigned(
      OwnerRotation rotation, PublicKey key, String field, ByteString signature) {
    if (!rotation.isSignedBy(key, signature.toByteArray())) {
      throw Refusal.denied(
          "%s is no signature of this cluster's rotation by the key %s; sign both keys and the key of the cluster's CA",
          field, Ed25519.fingerprint(key));
    }
  }

  /** Returns the record with the new key; the same if it has that key by the same rotation. */
  private static InitialOwner changed(InitialOwner owner, RotateOwnerKeyRequest request) {
    ByteString present = request.getPresentPublicKey();
    ByteString next = request.getNewPublicKey();
    boolean former = owner.getFormerPublicKeyList().contains(present);
    if (former && owner.getPublicKey().equals(next)) {
      return owner;
    }
    if (former) {
      throw Refusal.precondition(
          "the key %s is no longer the owner's: another rotation, or a recovery, has replaced it; use"
              + " the key of that one; nothing was changed",
          fingerprint(present));
    }
    if (!owner.getPublicKey().equals(present)) {
      throw Refusal.denied(
          "the key %s is not the owner's; nothing was changed", fingerprint(present));
    }
    return replaced(owner, next).build();
  }

  private static InitialOwner.Builder replaced(InitialOwner owner, ByteString next) {
    if (owner.getFormerPublicKeyList().contains(next)) {
      throw Refusal.precondition(
          "the key %s was the owner's before, and may be known to others; make another one; nothing"
              + " was changed",
          fingerprint(next));
    }
    return owner.toBuilder().addFormerPublicKey(owner.getPublicKey()).setPublicKey(next);
  }

  @Override
  public void getRecoveryChallenge(
      GetRecoveryChallengeRequest request, StreamObserver<GetRecoveryChallengeResponse> caller) {
    ByteString key = request.getNewKey();
    if (key.size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid("new_key has %d bytes; it needs %d", key.size(), Ed25519.KEY_BYTES);
    }
    ApiCalls.unary(gate, caller, term -> challenges.give(term.records().owner(), key));
  }

  @Override
  public void recoverOwnerKey(
      RecoverOwnerKeyRequest request, StreamObserver<RecoverOwnerKeyResponse> caller) {
    PublicKey next = RpcPeer.current().requireKey();
    RecoveryChallenges.checkLengths(request.getChallenge(), request.getProof());
    ApiCalls.unary(gate, caller, term -> recover(term, request, next));
  }

  private RecoverOwnerKeyResponse recover(
      LeaderTerm term, RecoverOwnerKeyRequest request, PublicKey next) throws InterruptedException {
    ByteString key = ByteString.copyFrom(Ed25519.raw(next));
    RecoveryProof proof =
        RecoveryProof.ofOwner(authority(term), next, request.getChallenge().toByteArray());
    X509Certificate issued =
        term.records().owner().getPublicKey().equals(key)
            ? AaaApi.issue(term, next)
            : replace(term, next, owner -> recovered(owner, request, key, proof));
    return RecoverOwnerKeyResponse.newBuilder()
        .setOwnerCertificate(ByteString.copyFrom(Pem.der(issued)))
        .build();
  }

  private static PublicKey authority(LeaderTerm term) throws InterruptedException {
    return term.pki().authority().certificate().getPublicKey();
  }

  private InitialOwner recovered(
      InitialOwner owner, RecoverOwnerKeyRequest request, ByteString key, RecoveryProof proof) {
    challenges.requireProved(owner, key, request.getChallenge(), proof, request.getProof());
    return replaced(owner, key).setRecoveries(owner.getRecoveries() + 1).build();
  }

  @Override
  public void setRecoveryKey(
      SetRecoveryKeyRequest request, StreamObserver<SetRecoveryKeyResponse> caller) {
    ByteString next = request.getRecoveryPublicKey();
    if (next.size() != RecoveryKey.PUBLIC_BYTES) {
      throw Refusal.invalid(
          "recovery_public_key has %d bytes; an X25519 key has %d",
          next.size(), RecoveryKey.PUBLIC_BYTES);
    }
    if (!request.getChallenge().isEmpty() || !request.getProof().isEmpty()) {
      RecoveryChallenges.checkLengths(request.getChallenge(), request.getProof());
    }
    // Refuses a key that no challenge could be sealed to.
    RecoveryChallenges.seal(next, new byte[RecoveryProof.ANSWER_BYTES]);
    ApiCalls.unary(gate, caller, term -> set(term, request));
  }

  private SetRecoveryKeyResponse set(LeaderTerm term, SetRecoveryKeyRequest request)
      throws InterruptedException {
    RecoveryProof proof =
        RecoveryProof.ofRecoveryKey(
            authority(term),
            request.getRecoveryPublicKey().toByteArray(),
            request.getChallenge().toByteArray());
    return term.records()
        .updateOwner(
            owner -> withRecoveryKey(owner, request, proof),
            _ -> SetRecoveryKeyResponse.getDefaultInstance());
  }

  private InitialOwner withRecoveryKey(
      InitialOwner owner, SetRecoveryKeyRequest request, RecoveryProof proof) {
    ByteString next = request.getRecoveryPublicKey();
    if (owner.getRecoveryPublicKey().equals(next)) {
      return owner;
    }
    if (!owner.getRecoveryPublicKey().isEmpty()) {
      if (request.getChallenge().isEmpty()) {
        throw Refusal.precondition(
            "the cluster has another recovery key, which alone appoints its successor; name its file"
                + " with 'polisctl recovery-key name FILE --former FILE'; nothing was changed");
      }
      challenges.requireProved(owner, next, request.getChallenge(), proof, request.getProof());
    }
    return owner.toBuilder().setRecoveryPublicKey(next).build();
  }

  private static String fingerprint(ByteString raw) {
    return Ed25519.fingerprint(Ed25519.publicKey(raw.toByteArray()));
  }
}
