package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiConflictException;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcRole;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.EscrowResponse.ProofRequest;
import dev.polis.wire.curator.stored.InitialOwner;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.util.Optional;

/** Serves the AAA API: issues user certificates to callers that prove to hold the user's key. */
public final class AaaApi extends AAAGrpc.AAAImplBase {

  /** The user with the key from the cluster's bootstrap, or with its successor. */
  public static final String OWNER = RpcRole.OWNER_NAME;

  private final LeaderGate gate;

  public AaaApi(LeaderGate gate) {
    this.gate = gate;
  }

  @Override
  public StreamObserver<EscrowRequest> escrow(StreamObserver<EscrowResponse> caller) {
    RpcPeer peer = RpcPeer.current();
    return new StreamObserver<>() {
      private boolean answered;

      @Override
      public void onNext(EscrowRequest message) {
        if (answered) {
          throw Refusal.invalid("this call has already issued the certificate; begin another call");
        }
        answered = true;
        answer(peer, message, caller);
      }

      @Override
      public void onError(Throwable gone) {
        // The caller disconnected; the call has changed nothing.
      }

      @Override
      public void onCompleted() {
        if (!answered) {
          throw Refusal.invalid(
              "the first message must have parameters; the call ended without one");
        }
      }
    };
  }

  private void answer(RpcPeer peer, EscrowRequest message, StreamObserver<EscrowResponse> caller) {
    if (!message.hasParameters()) {
      throw Refusal.invalid("the first message must have parameters");
    }
    String name = message.getParameters().getRequestedIdentityName();
    PublicKey wanted = wanted(message.getParameters());
    requireProof(peer, wanted, caller);
    X509Certificate emitted = ApiCalls.run(() -> gate.during(term -> issue(term, name, wanted)));
    caller.onNext(
        EscrowResponse.newBuilder()
            .addFulfilled(
                ProofRequest.newBuilder().setKind(ProofRequest.Kind.KIND_REFRESH_CERTIFICATE))
            .setEmittedCertificate(ByteString.copyFrom(Pem.der(emitted)))
            .build());
    caller.onCompleted();
  }

  /** Refuses a caller whose TLS certificate does not prove that it holds the key. */
  private static void requireProof(
      RpcPeer peer, PublicKey wanted, StreamObserver<EscrowResponse> caller) {
    Optional<PublicKey> proved =
        peer instanceof RpcPeer.Unauthenticated unauthenticated
            ? unauthenticated.publicKey()
            : Optional.empty();
    if (proved.isEmpty()) {
      caller.onNext(
          EscrowResponse.newBuilder()
              .addNeeded(
                  ProofRequest.newBuilder().setKind(ProofRequest.Kind.KIND_REFRESH_CERTIFICATE))
              .build());
      throw RpcException.unauthenticated(
          "connect with a self-signed certificate of the key in parameters.public_key; the caller is "
              + peer.describe());
    }
    if (!proved.get().equals(wanted)) {
      throw Refusal.precondition(
          "the connection proves another key than parameters.public_key; connect with that key");
    }
  }

  private static PublicKey wanted(EscrowRequest.Parameters parameters) {
    if (parameters.getPublicKey().size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid(
          "parameters.public_key has %d bytes; an Ed25519 key has %d",
          parameters.getPublicKey().size(), Ed25519.KEY_BYTES);
    }
    return Ed25519.publicKey(parameters.getPublicKey().toByteArray());
  }

  private static X509Certificate issue(LeaderTerm term, String name, PublicKey key)
      throws InterruptedException {
    return name.equals(OWNER) ? issue(term, key) : issueToOperator(term, name, key);
  }

  /** Issues an operator's certificate while the record has the operator, or returns the stored. */
  private static X509Certificate issueToOperator(LeaderTerm term, String name, PublicKey key)
      throws InterruptedException {
    ByteString raw = ByteString.copyFrom(Ed25519.raw(key));
    OperatorRules.requireKey(term.records().operators(), name, raw);
    try {
      return term.pki()
          .ensureUser(
              name,
              key,
              (conditions, others) ->
                  term.records()
                      .withOperators(
                          present -> OperatorRules.requireKey(present, name, raw),
                          conditions,
                          others));
    } catch (PkiConflictException busy) {
      throw busy;
    } catch (PkiException refused) {
      throw Refusal.precondition(
          "the operator \"%s\" gets no certificate: %s; the owner removes the operator and adds it"
              + " again (polisctl operator remove, polisctl operator add)",
          name, refused.getMessage());
    }
  }

  /** Issues the certificate of the owner's present key, or returns the stored one. */
  static X509Certificate issue(LeaderTerm term, PublicKey key) throws InterruptedException {
    ByteString raw = ByteString.copyFrom(Ed25519.raw(key));
    requireOwner(term.records().owner(), raw);
    try {
      return term.pki().ensureUser(OWNER, key);
    } catch (PkiConflictException busy) {
      throw busy;
    } catch (PkiException refused) {
      // Another key may have become the owner's meanwhile.
      requireOwner(term.records().owner(), raw);
      throw Refusal.precondition(
          "the owner gets no certificate: %s; the owner was revoked, or the records were restored"
              + " from a snapshot from before another key became the owner's; appoint an owner with"
              + " the recovery key: polisctl owner recover --recovery-key FILE",
          refused.getMessage());
    }
  }

  private static void requireOwner(InitialOwner owner, ByteString key) {
    if (owner.getFormerPublicKeyList().contains(key)) {
      throw Refusal.denied(
          "this key is no longer the owner's: the owner has replaced it (polisctl owner rotate), or"
              + " the holder of the recovery key (polisctl owner recover); use the new owner key");
    }
    if (!owner.getPublicKey().equals(key)) {
      throw Refusal.denied(
          "this key is not that of the cluster's owner; use the owner key that the first node was"
              + " given, or the one that has replaced it; if the records were restored from a"
              + " snapshot from before it became the owner's, appoint an owner with the recovery"
              + " key: polisctl owner recover --recovery-key FILE");
    }
  }
}
