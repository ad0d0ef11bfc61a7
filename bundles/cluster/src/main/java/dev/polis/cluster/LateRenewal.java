package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.pki.CaBundle;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.wire.curator.JoinNodeRequest;
import io.grpc.StatusException;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Gets a new certificate for a node whose certificate ended, which the leader accepts no longer.
 * The node proves its sealed join key instead.
 */
final class LateRenewal {

  private final EnrolmentOrgans organs;

  LateRenewal(EnrolmentOrgans organs) {
    this.organs = organs;
  }

  /** Makes the call of a node that joins again. */
  @FunctionalInterface
  interface Join {
    /** Returns the answer of the leader to the request. */
    ByteString certificate(JoinNodeRequest request) throws StatusException, InterruptedException;
  }

  /**
   * Asks for the certificate and writes it to the disk.
   *
   * @param present the ended credentials
   * @param join calls the leader with the join key
   * @return the credentials with the new certificate
   * @throws EnrolmentException if the leader refuses it, or sends one of another key
   */
  NodeCredentials renew(NodeCredentials present, Supplier<CaBundle> trusted, Join join)
      throws InterruptedException, FileException {
    ByteString der;
    try {
      der = join.certificate(JoinNodeRequest.getDefaultInstance());
    } catch (StatusException refused) {
      throw new EnrolmentException(
          "the certificate of %s is valid until %s, and the cluster issues no other one: %s"
              .formatted(
                  present.id(),
                  present.certificate().getNotAfter().toInstant(),
                  refused.getStatus().getDescription()),
          refused);
    }
    if (der.isEmpty()) {
      throw new EnrolmentException(
          "the certificate of %s is valid until %s, and the leader of the cluster runs a version that issues no other one to such a node; update the leader's node"
              .formatted(present.id(), present.certificate().getNotAfter().toInstant()));
    }
    NodeCredentials renewed = checked(present.adopting(trusted.get()), der);
    trust(organs, renewed.ca());
    write(organs, renewed.certificate());
    return renewed;
  }

  private static NodeCredentials checked(NodeCredentials present, ByteString der) {
    try {
      return present.renewed(Pem.certificate(der.toByteArray()));
    } catch (PkiException foreign) {
      throw new EnrolmentException(
          "the leader sent another certificate than that of %s: %s"
              .formatted(present.id(), foreign.getMessage()),
          foreign);
    }
  }

  /**
   * Writes the trusted CAs to the disk. Those before and after have the CA of the node's
   * certificate in common, so the node starts again after a crash between the two files.
   */
  static void trust(EnrolmentOrgans organs, CaBundle trusted) throws FileException {
    if (organs.storage().sealedConfiguration().read()
            instanceof Stored.Present<SealedConfiguration>(var _, var sealed)
        && !sealed.clusterCa().equals(trusted)) {
      organs.storage().sealedConfiguration().write(sealed.trusting(trusted));
    }
    organs.storage().root().data().node().credentials().clusterCa().write(trusted.pemBytes());
  }

  /** Writes the node's certificate to the disk. */
  static void write(EnrolmentOrgans organs, X509Certificate certificate) throws FileException {
    organs
        .storage()
        .root()
        .data()
        .node()
        .credentials()
        .certificate()
        .write(Pem.encode(certificate).getBytes(StandardCharsets.UTF_8));
  }

  /** Opens calls to the curators with the sealed join key. */
  static ClusterCalls calls(SealedConfiguration sealed, Set<NodeEndpoint> curators, Log log) {
    return new ClusterCalls(
        EnrolmentKeys.pair(sealed.joinKey().reveal()), sealed.clusterCa(), curators, log);
  }
}
