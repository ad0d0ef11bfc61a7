package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.Wait;
import dev.polis.files.FileException;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.PkiException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;

/** Joins a former member again, without a change of the disk. */
final class JoinFlow {

  /** The interval between two reads of a wrong clock. */
  private static final Duration CLOCK_PAUSE = Duration.ofMillis(500);

  private final EnrolmentOrgans organs;
  private final EnrolmentSteps steps;
  private final RecoveryKeySource recoveryKey;
  private final InstantSource clock;

  JoinFlow(
      EnrolmentOrgans organs,
      EnrolmentSteps steps,
      RecoveryKeySource recoveryKey,
      InstantSource clock) {
    this.organs = organs;
    this.steps = steps;
    this.recoveryKey = recoveryKey;
    this.clock = clock;
  }

  /**
   * Opens the volume, reads the credentials and starts consensus.
   *
   * @throws EnrolmentException if a step fails, naming the step
   */
  NodeCredentials run(SealedConfiguration sealed) throws InterruptedException {
    steps.step("network address", organs::awaitAddress);
    steps.step(
        "data volume",
        wait -> {
          mount(sealed);
          return sealed.security().toString();
        });
    NodeCredentials credentials = steps.step("node credentials", wait -> read(sealed));
    steps.log().info("this node is %s", credentials.id());
    if (trouble(credentials, clock.instant()).isPresent()) {
      steps.step("clock", wait -> awaitClock(credentials, wait));
    }
    steps.step(
        "consensus",
        wait -> {
          organs.network().publishLocalName(credentials.id());
          return organs.startExistingConsensus(credentials.privateKey(), wait);
        });
    return credentials;
  }

  /**
   * Returns the reason why each connection of the cluster would fail by this clock. The node's own
   * certificate may have ended, since consensus does not need it and the node renews it later.
   */
  private static Optional<String> trouble(NodeCredentials credentials, Instant now) {
    Instant begin =
        Stream.of(credentials.certificate(), credentials.ca())
            .map(certificate -> certificate.getNotBefore().toInstant())
            .max(Comparator.naturalOrder())
            .orElseThrow();
    Instant end = credentials.ca().getNotAfter().toInstant();
    if (now.isBefore(begin)) {
      return Optional.of("the certificates of this node begin at " + begin);
    }
    return now.isAfter(end)
        ? Optional.of("the CA of its cluster ended at " + end)
        : Optional.empty();
  }

  /**
   * Waits without a limit until the clock shows a time at which the node's certificates are valid:
   * a machine without a clock of its own gets the time from the network.
   */
  private String awaitClock(NodeCredentials credentials, Wait wait) throws InterruptedException {
    Instant now = clock.instant();
    Optional<String> trouble = trouble(credentials, now);
    while (trouble.isPresent()) {
      wait.detail(
          "this machine's clock shows %s, but %s; set the clock: timedatectl set-ntp true, or date -u -s TIME"
              .formatted(now.truncatedTo(ChronoUnit.SECONDS), trouble.get()));
      Thread.sleep(CLOCK_PAUSE);
      now = clock.instant();
      trouble = trouble(credentials, now);
    }
    return "set to " + now.truncatedTo(ChronoUnit.SECONDS);
  }

  private void mount(SealedConfiguration sealed) throws FileException, InterruptedException {
    boolean mounted = organs.storage().data().peek().orElseThrow() instanceof DataStatus.Mounted;
    if (mounted || sealed.security() == StorageSecurity.INSECURE) {
      // This needs no key; it checks that the mounted volume belongs to this node.
      organs.storage().mountExisting(sealed);
      return;
    }
    try (Secret clusterUnlockKey = clusterUnlockKey(sealed.security())) {
      organs.storage().mountExisting(sealed, clusterUnlockKey);
    }
  }

  private Secret clusterUnlockKey(StorageSecurity security) throws FileException {
    if (!organs.storage().recoveryShare().exists()) {
      throw new EnrolmentException(
          "the volume is %s, and no other node has the cluster's half of its key; there is no"
                  .formatted(security)
              + " recovery share either: the node parameters named no recovery_public_key, and"
              + " the owner enrolled none later. No key opens this volume; if you have a copy of"
              + " esp/recovery_share.pb, restore it");
    }
    try (Secret key = recoveryKey.read()) {
      steps.log().info("opening the data volume with the owner's %s", recoveryKey);
      return organs.storage().recoveryShare().open(key);
    }
  }

  private NodeCredentials read(SealedConfiguration sealed) throws FileException {
    var files = organs.storage().root().data().node().credentials();
    NodeCredentials credentials;
    try {
      credentials =
          NodeCredentials.fromPem(
              text(files.key().read().orThrow()),
              text(files.certificate().read().orThrow()),
              text(files.clusterCa().read().orThrow()));
    } catch (PkiException damaged) {
      throw new EnrolmentException(
          "the credentials in %s are damaged: %s; bring the folder back from a copy of this disk; nothing was changed"
              .formatted(files.path(), damaged.getMessage()),
          damaged);
    }
    if (!credentials.ca().equals(sealed.clusterCa())) {
      throw new EnrolmentException(
          "%s holds the credentials of another cluster (CA %s) than the sealed configuration (CA %s);"
                  .formatted(
                      files,
                      credentials.ca().getSerialNumber(),
                      sealed.clusterCa().getSerialNumber())
              + " bring the esp and the data of one node together again");
    }
    return credentials;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
