package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.health.CertificateCheck;
import dev.polis.health.HealthCondition;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** Derives the health of this organ from the status of its member. */
final class ConsensusHealth {

  private ConsensusHealth() {}

  static Optional<HealthCondition> of(ConsensusStatus status) {
    return switch (status) {
      case ConsensusStatus.Running running when running.alarms().isEmpty() -> Optional.empty();
      case ConsensusStatus.Running alarmed ->
          Optional.of(
              HealthCondition.degraded(
                  "etcd-alarm",
                  "etcd has raised alarms: " + String.join(", ", alarmed.alarms()),
                  "polisctl explain etcd-alarm"));
      case ConsensusStatus.Stopped stopped ->
          Optional.of(
              HealthCondition.waiting(
                  "etcd-not-wanted",
                  "etcd does not run: this node is not asked to be a member yet"));
      case ConsensusStatus.Starting(String waitingFor) ->
          Optional.of(HealthCondition.waiting("etcd-starting", "etcd waits for " + waitingFor));
      case ConsensusStatus.Failed(String reason) ->
          Optional.of(
              HealthCondition.down(
                  "etcd-failed",
                  "etcd does not start: " + reason + "; it is started again by itself",
                  ""));
    };
  }

  /** Looks at the certificates by which etcd and its clients know each other. */
  static CertificateCheck certificates(ConsensusFiles files, InstantSource clock) {
    return new CertificateCheck(
        "consensus",
        clock,
        List.of(
            new CertificateCheck.Watched(
                "the CA of etcd",
                files.ca().path(),
                "no command of this version replaces it: make a new cluster, and move there what"
                    + " runs here"),
            new CertificateCheck.Watched(
                "etcd's certificate",
                files.etcd().peerPki().certificate().path(),
                "it is renewed by itself while etcd serves; polisctl debug logs --dn"
                    + " root.consensus says why it was not")));
  }
}
