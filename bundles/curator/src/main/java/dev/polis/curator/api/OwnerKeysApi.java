package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.Pem;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.RotateOwnerKeyResponse;
import dev.polis.wire.curator.stored.InitialOwner;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.security.cert.X509Certificate;

/**
 * Serves the OwnerKeys API, for the owner: replaces the owner's key. One transaction changes the
 * record, revokes the certificates of the former key and stores that of the new one, so no moment
 * has two keys, or none. A caller proves the present key by a signature: its certificate may be
 * that of a former key for the moment in which a listener does not know the revocation yet.
 */
public final class OwnerKeysApi extends OwnerKeysGrpc.OwnerKeysImplBase {

  private final LeaderGate gate;

  public OwnerKeysApi(LeaderGate gate) {
    this.gate = gate;
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
    OwnerRotation rotation =
        new OwnerRotation(term.pki().authority().certificate().getPublicKey(), present, next);
    requireSigned(rotation, present, "present_signature", request.getPresentSignature());
    requireSigned(rotation, next, "new_signature", request.getNewSignature());
    InitialOwner now = term.records().owner();
    X509Certificate issued =
        changed(now, request).equals(now)
            ? term.pki().ensureUser(AaaApi.OWNER, next)
            : term.pki()
                .replaceUser(
                    AaaApi.OWNER,
                    next,
                    (conditions, others) ->
                        term.records()
                            .updateOwner(owner -> changed(owner, request), conditions, others));
    return RotateOwnerKeyResponse.newBuilder()
        .setOwnerCertificate(ByteString.copyFrom(Pem.der(issued)))
        .build();
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
          "the key %s is no longer the owner's: another rotation has replaced it; use the key of"
              + " that rotation; nothing was changed",
          fingerprint(present));
    }
    if (!owner.getPublicKey().equals(present)) {
      throw Refusal.denied(
          "the key %s is not the owner's; nothing was changed", fingerprint(present));
    }
    if (owner.getFormerPublicKeyList().contains(next)) {
      throw Refusal.precondition(
          "the key %s was the owner's before, and may be known to others; make another one; nothing"
              + " was changed",
          fingerprint(next));
    }
    return owner.toBuilder().addFormerPublicKey(present).setPublicKey(next).build();
  }

  private static String fingerprint(ByteString raw) {
    return Ed25519.fingerprint(Ed25519.publicKey(raw.toByteArray()));
  }
}
