package dev.polis.ctl.owner;

import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.Session;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.X509Certificate;

/** Gets the certificate of the cluster's owner, or of an operator, as often as wanted. */
public final class OwnerCertificate {

  private OwnerCertificate() {}

  /**
   * Asks the cluster for a certificate of the owner's key.
   *
   * @param ca the cluster's CAs
   */
  public static X509Certificate fetch(Session session, KeyPair owner, CaBundle ca)
      throws InterruptedException {
    return fetch(session, "owner", owner, ca);
  }

  /** Asks the cluster for a certificate of the user with this name and key. */
  static X509Certificate fetch(Session session, String name, KeyPair key, CaBundle ca)
      throws InterruptedException {
    var stub =
        session.limited(
            AAAGrpc.newBlockingV2Stub(
                session.curator(ca, trust -> RpcClients.ephemeral(key, trust))));
    EscrowResponse answer = session.call(() -> ask(stub.escrow(), name, key));
    return answered(answer.getEmittedCertificate());
  }

  private static EscrowResponse ask(
      BlockingClientCall<EscrowRequest, EscrowResponse> call, String name, KeyPair key)
      throws StatusException, InterruptedException {
    call.write(
        EscrowRequest.newBuilder()
            .setParameters(
                EscrowRequest.Parameters.newBuilder()
                    .setRequestedIdentityName(name)
                    .setPublicKey(ByteString.copyFrom(Ed25519.raw(key.getPublic()))))
            .build());
    EscrowResponse answer = call.read();
    while (answer != null && answer.getEmittedCertificate().isEmpty()) {
      answer = call.read();
    }
    call.halfClose();
    if (answer == null) {
      throw new CtlException("the cluster ended the call without a certificate");
    }
    return answer;
  }

  /** Reads a certificate that a node has sent. */
  public static X509Certificate answered(ByteString der) {
    try {
      return Pem.certificate(der.toByteArray());
    } catch (PkiException e) {
      throw new CtlException(
          "the cluster answered with %d bytes that are no certificate: %s"
              .formatted(der.size(), e.getMessage()),
          e);
    }
  }

  static byte[] pem(X509Certificate certificate) {
    return Pem.encode(certificate).getBytes(StandardCharsets.UTF_8);
  }

  /** Writes both certificates to the operator's folder. */
  public static void write(CtlTarget target, CaBundle ca, X509Certificate certificate) {
    CtlFiles.write(target.clusterCa(), ca.pemBytes());
    CtlFiles.write(target.ownerCertificate(), pem(certificate));
  }
}
