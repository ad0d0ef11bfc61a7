package dev.polis.curator;

import dev.polis.api.curator.CuratorException;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.wire.cluster.GetUnlockKeyRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.MembershipGrpc.MembershipBlockingV2Stub;
import dev.polis.wire.cluster.RenewCertificateRequest;
import io.grpc.Channel;
import io.grpc.StatusException;
import java.security.cert.X509Certificate;

/** Asks the leader for this node's certificate and for its half of the volume key. */
final class MembershipCalls {

  private MembershipCalls() {}

  private static MembershipBlockingV2Stub at(Channel leader) {
    return MembershipGrpc.newBlockingV2Stub(leader).withDeadlineAfter(LeaderConnection.REPORT);
  }

  static X509Certificate renew(Channel leader, NodeCredentials credentials)
      throws InterruptedException {
    try {
      return Pem.certificate(
          at(leader)
              .renewCertificate(RenewCertificateRequest.getDefaultInstance())
              .getNodeCertificate()
              .toByteArray());
    } catch (StatusException | PkiException e) {
      throw new CuratorException(
          "the leader does not renew the certificate of %s now: %s"
              .formatted(credentials.id(), e.getMessage()),
          e);
    }
  }

  static Secret clusterUnlockKey(Channel leader, NodeCredentials credentials)
      throws InterruptedException {
    try {
      byte[] half =
          at(leader)
              .getUnlockKey(GetUnlockKeyRequest.getDefaultInstance())
              .getClusterUnlockKey()
              .toByteArray();
      if (half.length == 0) {
        throw new CuratorException(
            "the record of %s has no half of a volume key: its volume is not encrypted"
                .formatted(credentials.id()));
      }
      return Secret.take(half);
    } catch (StatusException e) {
      throw new CuratorException(
          "the leader does not give the record of %s now: %s"
              .formatted(credentials.id(), e.getMessage()),
          e);
    }
  }
}
