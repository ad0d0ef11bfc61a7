package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.health.CertificateCheck;
import dev.polis.health.FolderCheck;
import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Derives the health of this organ from the status of its member, and from its certificates. */
final class ConsensusHealth {

  /** By the kind of an alarm. */
  private static final Map<String, String> REMEDIES =
      Map.of(
          EtcdAlarm.Kind.NOSPACE.name(),
          "etcd refuses writes: delete keys that are not needed (polisctl etcd status prints the options of etcdctl), or"
              + " start the node with a larger --set dev.polis.consensus.quota.bytes=BYTES; the alarm then ends by itself"
              + " at the next look, once a minute",
          EtcdAlarm.Kind.CORRUPT.name(),
          "the members' data differ, so etcd refuses writes: stop the node and restore data/etcd as a whole from a copy");

  private ConsensusHealth() {}

  static Optional<HealthCondition> of(ConsensusStatus status) {
    return switch (status) {
      case ConsensusStatus.Running running when running.alarms().isEmpty() -> Optional.empty();
      case ConsensusStatus.Running alarmed ->
          Optional.of(
              HealthCondition.degraded(
                  "etcd-alarm",
                  "etcd has raised alarms: " + String.join(", ", alarmed.alarms()),
                  alarmed.alarms().stream()
                      .map(alarm -> alarm.split(" ", 2)[0])
                      .distinct()
                      .map(kind -> REMEDIES.getOrDefault(kind, "polisctl explain etcd-alarm"))
                      .collect(Collectors.joining("; "))));
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

  /** Looks whether etcd's data are where the next start of etcd looks for them. */
  static FolderCheck folders(ConsensusFiles files) {
    return new FolderCheck(
        "consensus",
        () -> List.of(files.etcd().data().path()),
        "save what etcd has before anything ends it, with etcdctl snapshot save FILE (polisctl etcd status prints the"
            + " options of etcdctl)");
  }

  /** Looks at the certificates by which etcd and its clients know each other. */
  static CertificateCheck certificates(ConsensusFiles files, InstantSource clock) {
    return check(
        clock,
        authority(files),
        new CertificateCheck.Watched(
            "etcd's certificate",
            files.etcd().peerPki().certificate().path(),
            "it is renewed by itself while etcd serves; polisctl debug logs --dn root.consensus"
                + " says why it was not"));
  }

  /**
   * Requires a CA that is valid by the node's clock: with another one each connection to etcd
   * fails, for a reason that names neither.
   *
   * @throws ConsensusException if it is not valid yet, or has ended
   */
  static void requireAuthority(ConsensusFiles files, InstantSource clock) throws IOException {
    Optional<HealthCondition> invalid =
        check(clock, authority(files)).look().filter(found -> !found.level().works());
    if (invalid.isPresent()) {
      throw new ConsensusException(invalid.get().reason() + "; " + invalid.get().remedy());
    }
  }

  private static CertificateCheck check(
      InstantSource clock, CertificateCheck.Watched... certificates) {
    return new CertificateCheck("consensus", clock, List.of(certificates));
  }

  private static CertificateCheck.Watched authority(ConsensusFiles files) {
    return new CertificateCheck.Watched(
        "the CA of etcd",
        files.ca().path(),
        "no command of this version replaces it: make a new cluster, and move there what runs here");
  }
}
