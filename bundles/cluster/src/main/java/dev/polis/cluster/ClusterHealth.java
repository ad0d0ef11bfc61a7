package dev.polis.cluster;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root.Credentials;
import dev.polis.health.CertificateCheck;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcRevocations;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** Derives the health of this organ from the status of the cluster. */
final class ClusterHealth {

  private ClusterHealth() {}

  static Optional<HealthCondition> of(ClusterStatus status) {
    return switch (status.state()) {
      case HOME -> Optional.empty();
      case FOREIGN ->
          Optional.of(
              new HealthCondition(
                  HealthLevel.WAITING, "waits-for-approval", text(status), status.reason()));
      case UNKNOWN, TRUSTED -> Optional.of(HealthCondition.waiting("not-a-member", text(status)));
      case SPLIT ->
          Optional.of(
              HealthCondition.degraded(
                      "no-contact-to-consensus",
                      "the node is SPLIT: " + text(status),
                      "polisctl explain curator")
                  .dueTo("curator", "consensus"));
      case DISOWNING ->
          Optional.of(
              HealthCondition.down("disowned", text(status), Disowning.REMEDY).dueTo("cluster"));
    };
  }

  /** Reports the fault of the node's revocation list. */
  static Optional<HealthCondition> of(RpcRevocations revocations) {
    return switch (revocations) {
      case RpcRevocations.None none -> Optional.empty();
      case RpcRevocations.Known known -> Optional.empty();
      case RpcRevocations.Unknown unknown ->
          Optional.of(
              HealthCondition.degraded(
                      "revocation-list-unknown",
                      unknown.describe() + "; the node reads it again when consensus answers",
                      "polisctl explain consensus")
                  .dueTo("consensus"));
    };
  }

  /** Reports credentials on the disk that differ from those of the running node. */
  static Optional<HealthCondition> credentials(Credentials files, NodeCredentials inUse) {
    try {
      NodeCredentials stored =
          NodeCredentials.fromPem(
              text(files.key()), text(files.certificate()), text(files.clusterCa()));
      if (stored.id().equals(inUse.id()) && stored.ca().sharesWith(inUse.ca())) {
        return Optional.empty();
      }
      return Optional.of(
          changed(
              files,
              "they belong to %s in another cluster or to another node".formatted(stored.id())));
    } catch (PkiException | FileException damaged) {
      return Optional.of(changed(files, damaged.getMessage()));
    }
  }

  private static HealthCondition changed(Credentials files, String why) {
    return HealthCondition.degraded(
            "credentials-not-in-use",
            "the credentials in %s differ from those that this node uses (%s): it keeps running, but its next start fails"
                .formatted(files.path(), why),
            "restore that folder from a copy of this disk before the node starts again, and find out which program wrote there")
        .dueTo("cluster");
  }

  private static String text(FilePlacement file) throws FileException {
    return new String(file.read().orThrow(), StandardCharsets.UTF_8);
  }

  /** Checks the certificates of this node and its cluster. */
  static CertificateCheck certificates(Credentials files, InstantSource clock) {
    return new CertificateCheck(
        "cluster",
        clock,
        List.of(
            new CertificateCheck.Watched(
                "the node's certificate",
                files.certificate().path(),
                "the curator renews it; polisctl explain curator says why it does not"),
            new CertificateCheck.Watched(
                "the CA of the cluster",
                files.clusterCa().path(),
                "replace it in steps: polisctl ca rotate, then polisctl ca retire")));
  }

  private static String text(ClusterStatus status) {
    return status.state().meaning() + ": " + status.reason();
  }
}
