package dev.polis.ctl;

import com.google.protobuf.ByteString;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Pem;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.security.PublicKey;
import java.util.function.Predicate;

/** Stands in for the curator: issues the owner's certificates for keys that callers prove. */
public final class Ownership extends AAAGrpc.AAAImplBase {
  private final CertificateAuthority cluster;
  private final Predicate<PublicKey> accepted;

  /** Makes a service that denies callers with a key that is not accepted. */
  public Ownership(CertificateAuthority cluster, Predicate<PublicKey> accepted) {
    this.cluster = cluster;
    this.accepted = accepted;
  }

  @Override
  public StreamObserver<EscrowRequest> escrow(StreamObserver<EscrowResponse> caller) {
    PublicKey proved = RpcPeer.current().requireKey();
    return new StreamObserver<>() {
      @Override
      public void onNext(EscrowRequest request) {
        if (!accepted.test(proved)) {
          throw new RpcException(
              Status.Code.PERMISSION_DENIED, "this key is no longer the owner's");
        }
        caller.onNext(
            EscrowResponse.newBuilder()
                .setEmittedCertificate(
                    ByteString.copyFrom(Pem.der(cluster.issueUser("owner", proved))))
                .build());
        caller.onCompleted();
      }

      @Override
      public void onError(Throwable gone) {
        // The test fails at its own call.
      }

      @Override
      public void onCompleted() {
        // There is only one message.
      }
    };
  }
}
