package dev.polis.cluster;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.wire.storage.Removal;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Optional;

/**
 * Keeps the proof that the cluster has removed this node: its certificate, and the list by which
 * the cluster's CA has revoked it. A node with this proof never starts as a member again.
 */
final class RemovalFile {

  private final FilePlacement file;

  RemovalFile(FilePlacement file) {
    this.file = file;
  }

  void write(NodeCredentials former, Crl list, Instant now) throws FileException {
    file.write(
        Removal.newBuilder()
            .setNodeId(former.id().text())
            .setCaCertificate(ByteString.copyFrom(Pem.der(former.ca().signerOf(list))))
            .setNodeCertificate(ByteString.copyFrom(Pem.der(former.certificate())))
            .setRevocations(ByteString.copyFrom(list.der()))
            .setNoticedAt(Timestamp.newBuilder().setSeconds(now.getEpochSecond()))
            .build());
  }

  /**
   * Returns why this node is no member; empty without a proof.
   *
   * @throws EnrolmentException if the file is damaged or proves nothing
   */
  Optional<String> read() {
    return switch (file.read(Removal.parser())) {
      case Stored.None<Removal> none -> Optional.empty();
      case Stored.Present<Removal>(Path path, Removal removal) ->
          Optional.of(verified(path, removal));
      case Stored.Corrupted<Removal>(Path path, String reason) -> throw damaged(path, reason);
      case Stored.Unreadable<Removal>(Path path, String reason, var cause) ->
          throw damaged(path, reason);
    };
  }

  private static String verified(Path path, Removal removal) {
    try {
      X509Certificate ca = Pem.certificate(removal.getCaCertificate().toByteArray());
      X509Certificate certificate = Pem.certificate(removal.getNodeCertificate().toByteArray());
      Crl list = Crl.parse(removal.getRevocations().toByteArray()).verify(ca);
      if (!list.revokes(certificate)) {
        throw damaged(path, "its revocation list does not name the certificate of the node");
      }
      return "the cluster has removed %s and revoked its certificate %s; the node learned it at %s"
          .formatted(
              removal.getNodeId(),
              certificate.getSerialNumber().toString(16),
              Instant.ofEpochSecond(removal.getNoticedAt().getSeconds()));
    } catch (PkiException damaged) {
      throw damaged(path, damaged.getMessage());
    }
  }

  private static EnrolmentException damaged(Path path, String reason) {
    return new EnrolmentException(
        "%s, the proof that the cluster has removed this node, is damaged: %s. Restore the file from"
                .formatted(path, reason)
            + " a copy, or start the machine with an empty state directory");
  }
}
