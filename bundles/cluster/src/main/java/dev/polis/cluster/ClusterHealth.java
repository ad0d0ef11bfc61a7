package dev.polis.cluster;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root.Credentials;
import dev.polis.health.CertificateCheck;
import dev.polis.health.HealthCondition;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcRevocations;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** Says what a status of the cluster means for the health of this organ. */
final class ClusterHealth {

  private ClusterHealth() {}

  static Optional<HealthCondition> of(ClusterStatus status) {
    return switch (status.state()) {
      case HOME -> Optional.empty();
      case UNKNOWN, FOREIGN, TRUSTED ->
          Optional.of(HealthCondition.waiting("not-a-member", text(status)));
      case SPLIT ->
          Optional.of(
              HealthCondition.degraded(
                      "no-contact-to-consensus", text(status), "polisctl explain curator")
                  .dueTo("curator", "consensus"));
      case DISOWNING -> Optional.of(HealthCondition.down("disowned", text(status), ""));
    };
  }

  /** Says what is wrong with what the node knows of revoked certificates. */
  static Optional<HealthCondition> of(RpcRevocations revocations) {
    return switch (revocations) {
      case RpcRevocations.None none -> Optional.empty();
      case RpcRevocations.Known known -> Optional.empty();
      case RpcRevocations.Unknown unknown ->
          Optional.of(
              HealthCondition.degraded(
                      "revocation-list-unknown",
                      unknown.describe() + "; it ends when consensus answers",
                      "polisctl explain consensus")
                  .dueTo("consensus"));
    };
  }

  /**
   * Says that the credentials on the disk are not those that a running node works with; empty if
   * they are.
   */
  static Optional<HealthCondition> credentials(Credentials files, NodeCredentials inUse) {
    try {
      NodeCredentials stored =
          NodeCredentials.fromPem(
              text(files.key()), text(files.certificate()), text(files.clusterCa()));
      if (stored.id().equals(inUse.id()) && stored.ca().equals(inUse.ca())) {
        return Optional.empty();
      }
      return Optional.of(
          changed(
              files,
              "they are of %s in another cluster or of another node".formatted(stored.id())));
    } catch (PkiException | FileException damaged) {
      return Optional.of(changed(files, damaged.getMessage()));
    }
  }

  private static HealthCondition changed(Credentials files, String why) {
    return HealthCondition.degraded(
            "credentials-not-in-use",
            "the credentials in %s are not those that this node works with (%s): it works on, and its next start fails"
                .formatted(files.path(), why),
            "bring that folder back from a copy of this disk before the node starts again, and find out what wrote there")
        .dueTo("cluster");
  }

  private static String text(FilePlacement file) throws FileException {
    return new String(file.read().orThrow(), StandardCharsets.UTF_8);
  }

  /** Looks at the certificates that this node and its cluster show to others. */
  static CertificateCheck certificates(Credentials files, InstantSource clock) {
    return new CertificateCheck(
        "cluster",
        clock,
        List.of(
            new CertificateCheck.Watched(
                "the node's certificate",
                files.certificate().path(),
                "the curator renews it by itself; polisctl explain curator says why it does not"),
            new CertificateCheck.Watched(
                "the CA of the cluster",
                files.clusterCa().path(),
                "no command of this version replaces it: make a new cluster, and move there what"
                    + " runs here")));
  }

  private static String text(ClusterStatus status) {
    return status.state().meaning() + ": " + status.reason();
  }
}
