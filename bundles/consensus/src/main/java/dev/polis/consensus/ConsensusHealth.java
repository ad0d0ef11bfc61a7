package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.base.values.Value;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.health.CertificateCheck;
import dev.polis.health.FileCheck;
import dev.polis.health.FolderCheck;
import dev.polis.health.HealthCondition;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Derives the health of this organ from the status of its member, and from its certificates. */
final class ConsensusHealth {

  /** The remedies by the kind of an alarm. */
  private static final Map<String, String> REMEDIES =
      Map.of(
          EtcdAlarm.Kind.NOSPACE.name(),
          "etcd refuses writes: delete keys that are not needed (polisctl etcd status prints the options of etcdctl), or"
              + " start the node with a larger --set dev.polis.consensus.quota.bytes=BYTES; the"
              + " node then clears the alarm within a minute",
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
              // Nothing is wrong with it: most nodes of a cluster run no etcd.
              HealthCondition.up(
                  "etcd-not-wanted",
                  "etcd does not run: no organ of this node has asked for a member"));
      case ConsensusStatus.Starting(String waitingFor) ->
          Optional.of(HealthCondition.waiting("etcd-starting", "etcd waits for " + waitingFor));
      case ConsensusStatus.Failed(String reason) ->
          Optional.of(
              HealthCondition.down(
                  "etcd-failed",
                  "etcd does not start: " + reason + "; the node starts it again",
                  ""));
    };
  }

  /** Returns what an operator does about an alarm of this kind. */
  static String remedy(EtcdAlarm.Kind kind) {
    return REMEDIES.get(kind.name());
  }

  /** Checks that etcd's data are where the next start of etcd expects them, if it is wanted. */
  static FolderCheck folders(ConsensusFiles files, Value<ConsensusStatus> status) {
    return new FolderCheck(
        "consensus",
        () ->
            status.peek().orElseThrow() instanceof ConsensusStatus.Stopped
                ? List.of()
                : List.of(files.etcd().data().path()),
        "save the data of etcd before etcd ends: polisctl etcd snapshot FILE");
  }

  /** Checks the files that the next start of etcd needs and cannot make again, if it is wanted. */
  static FileCheck files(ConsensusFiles files, Value<ConsensusStatus> status) {
    return new FileCheck(
        "consensus",
        () ->
            status.peek().orElseThrow() instanceof ConsensusStatus.Stopped
                ? List.of()
                : List.of(
                    files.ca().read().map(pem(CaBundle::fromPem)),
                    files.caKey().read().map(pem(Pem::privateKey)),
                    ConsensusRecord.read(files.member())));
  }

  private static <T> Function<byte[], T> pem(Function<String, T> parser) {
    return bytes -> {
      try {
        return parser.apply(new String(bytes, StandardCharsets.UTF_8));
      } catch (PkiException damaged) {
        throw new IllegalArgumentException(damaged.getMessage(), damaged);
      }
    };
  }

  /** Checks the certificates with which etcd and its clients authenticate each other. */
  static CertificateCheck certificates(ConsensusFiles files, InstantSource clock) {
    return check(
        clock,
        authority(files),
        new CertificateCheck.Watched(
            "etcd's certificate",
            files.etcd().peerPki().certificate().path(),
            "the node renews it while etcd serves; polisctl node logs --dn root.consensus (before the"
                + " node is HOME: polisctl debug logs) says why it did not"));
  }

  /**
   * Requires a CA that is valid by the node's clock. With another CA each connection to etcd fails
   * with a message without the CA and the clock.
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
        "replace it before it ends: polisctl ca rotate --of etcd, then polisctl ca retire --of etcd; after its end, make a new cluster, and move your programs and data there");
  }
}
