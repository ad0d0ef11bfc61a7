package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.MachineShareStore;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.Wait;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.health.ClockRemedy;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.wire.curator.JoinNodeRequest;
import io.grpc.StatusException;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Joins a former member again, without a change of the disk. */
final class JoinFlow {

  /** The interval between two reads of a wrong clock. */
  private static final Duration CLOCK_PAUSE = Duration.ofMillis(500);

  /** Says how a cluster comes back that was off as a whole, whose leader holds the keys. */
  private static final String ALL_OFF =
      "; if all voters were off, no leader comes by itself: give a majority of them the owner's"
          + " recovery key (on each polis down, then polis up --recovery-key FILE); all other nodes"
          + " then get their keys from the leader";

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
   * Holds a member that came back.
   *
   * @param curators those to follow; empty if this node keeps the records itself
   */
  record Joined(NodeCredentials credentials, Set<NodeEndpoint> curators) {}

  /**
   * Opens the volume, reads the credentials and starts consensus, if this node runs it.
   *
   * @throws EnrolmentException if a step fails, naming the step
   */
  Joined run(SealedConfiguration sealed) throws InterruptedException {
    organs.awaitNetwork(steps);
    steps.step(
        "data volume",
        wait -> {
          mount(sealed, wait);
          return sealed.security().toString();
        });
    NodeCredentials stored = steps.step("node credentials", wait -> read(sealed));
    steps.log().info("this node is %s", stored.id());
    Set<NodeEndpoint> others = others();
    NodeCredentials credentials = afterRotation(stored, sealed, others);
    if (trouble(credentials, clock.instant()).isPresent()) {
      steps.step("clock", wait -> awaitClock(credentials, wait));
    }
    if (!organs.hasVoter() && !others.isEmpty()) {
      steps.step(
          "local name",
          wait -> {
            organs.network().publishLocalName(credentials.id());
            return credentials.id().text();
          });
      return new Joined(valid(credentials, sealed, others), others);
    }
    steps.step(
        "consensus",
        wait -> {
          organs.network().publishLocalName(credentials.id());
          return organs.startExistingConsensus(credentials.privateKey(), wait);
        });
    return new Joined(credentials, organs.hasVoter() ? Set.of() : othersAfterRemoval(others));
  }

  private static Set<NodeEndpoint> othersAfterRemoval(Set<NodeEndpoint> others) {
    if (others.isEmpty()) {
      throw new EnrolmentException(
          "another member has removed the member of this node from etcd, and esp/cluster_directory.pb names no other curator; copy that file from another node of the cluster");
    }
    return others;
  }

  /**
   * Gets a certificate with the join key if the cluster has made another CA while this node was
   * off: the cluster may accept those of the former CA no more.
   */
  private NodeCredentials afterRotation(
      NodeCredentials stored, SealedConfiguration sealed, Set<NodeEndpoint> others)
      throws InterruptedException {
    if (others.isEmpty()) {
      return stored;
    }
    try (ClusterCalls cluster =
        LateRenewal.calls(sealed.trusting(stored.ca()), others, steps.log())) {
      Optional<X509Certificate> issuing = cluster.issuing();
      if (issuing.isEmpty() || CaBundle.of(issuing.get()).issued(stored.certificate())) {
        return stored;
      }
      NodeCredentials renewed =
          new LateRenewal(organs)
              .renew(
                  stored,
                  cluster::authorities,
                  request -> cluster.once(leader -> leader.joinNode(request)).getNodeCertificate());
      steps.log().info("the cluster has made another CA; this node trusts %s", renewed.ca());
      return renewed;
    } catch (EnrolmentException | FileException failed) {
      steps
          .log()
          .warning(
              "the cluster has made another CA while this node was off, and this node has no certificate of it yet: %s; start the node again if the cluster refuses it",
              failed.getMessage());
      return stored;
    }
  }

  /** Returns the curators of other nodes that this node knew last. */
  private Set<NodeEndpoint> others() {
    return new KnownCurators(organs, steps.log()).elsewhere();
  }

  /**
   * Returns credentials that the cluster accepts: of a node whose certificate ended while it was
   * off, those with a new certificate, for which it waits without a limit.
   */
  private NodeCredentials valid(
      NodeCredentials present, SealedConfiguration sealed, Set<NodeEndpoint> curators)
      throws InterruptedException {
    Instant end = present.certificate().getNotAfter().toInstant();
    if (!clock.instant().isAfter(end)) {
      return present;
    }
    NodeCredentials renewed =
        steps.step(
            "node certificate",
            wait -> {
              wait.detail(
                  "it ended at %s; asking the cluster for a new one, at %s"
                      .formatted(end, CuratorAddresses.text(curators)));
              try (ClusterCalls cluster = LateRenewal.calls(sealed, curators, steps.log())) {
                return new LateRenewal(organs)
                    .renew(
                        present,
                        cluster::authorities,
                        request ->
                            cluster
                                .call(wait, leader -> leader.joinNode(request))
                                .getNodeCertificate());
              }
            });
    steps
        .log()
        .info(
            "the certificate of this node ended at %s; the new one is valid until %s",
            end, renewed.certificate().getNotAfter().toInstant());
    return renewed;
  }

  /**
   * Returns the reason why each connection of the cluster would fail by this clock. The node's own
   * certificate may have ended, since consensus does not need it and the node gets another one.
   */
  private static Optional<String> trouble(NodeCredentials credentials, Instant now) {
    Instant begin =
        Stream.of(credentials.certificate(), credentials.ca().issuing())
            .map(certificate -> certificate.getNotBefore().toInstant())
            .max(Comparator.naturalOrder())
            .orElseThrow();
    Instant end = credentials.ca().issuing().getNotAfter().toInstant();
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
          "this machine's clock shows %s, but %s; %s"
              .formatted(now.truncatedTo(ChronoUnit.SECONDS), trouble.get(), ClockRemedy.SET));
      Thread.sleep(CLOCK_PAUSE);
      now = clock.instant();
      trouble = trouble(credentials, now);
    }
    return "set to " + now.truncatedTo(ChronoUnit.SECONDS);
  }

  private void mount(SealedConfiguration sealed, Wait wait) throws Exception {
    boolean mounted = organs.storage().data().peek().orElseThrow() instanceof DataStatus.Mounted;
    if (mounted || sealed.security() == StorageSecurity.INSECURE) {
      // This needs no key; it checks that the mounted volume belongs to this node.
      organs.storage().mountExisting(sealed);
      return;
    }
    try (Secret clusterUnlockKey = clusterUnlockKey(sealed, wait)) {
      organs.storage().mountExisting(sealed, clusterUnlockKey);
      MachineShareStore machine = organs.storage().machineShare();
      if (recoveryKey.isGiven() && machine.exists() && machine.possible()) {
        // The owner accepts the machine as it is now.
        machine.write(clusterUnlockKey);
      }
    }
  }

  /**
   * Opens the sealed configuration with the owner's recovery key, if one is given and the machine
   * has sealed the configuration; the machine seals it again, as it is now.
   */
  Optional<SealedConfiguration> recovered() throws InterruptedException {
    if (!recoveryKey.isGiven() || !organs.storage().machineShare().possible()) {
      return Optional.empty();
    }
    return Optional.of(
        steps.step(
            "sealed configuration",
            wait -> {
              try (Secret key = recoveryKey.read()) {
                return organs.storage().sealedConfiguration().recover(key);
              }
            }));
  }

  private Secret clusterUnlockKey(SealedConfiguration sealed, Wait wait) throws Exception {
    Set<NodeEndpoint> others = others();
    if (!recoveryKey.isGiven() && organs.storage().machineShare().exists()) {
      Stored<Secret> machine = organs.storage().machineShare().read();
      if (others.isEmpty() || machine instanceof Stored.Present<Secret>) {
        steps.log().info("opening the data volume with what the TPM of this machine has sealed");
        return machine.orThrow();
      }
      steps.log().warning("%s; asking the cluster instead", machine);
    }
    return others.isEmpty() || recoveryKey.isGiven()
        ? fromRecoveryShare(sealed.security())
        : fromCluster(sealed, others, wait);
  }

  /** Waits without a limit until the leader of the cluster gives its half of the key. */
  private Secret fromCluster(SealedConfiguration sealed, Set<NodeEndpoint> curators, Wait wait)
      throws InterruptedException {
    wait.detail(
        "asking the cluster for its half of the key, at %s%s"
            .formatted(CuratorAddresses.text(curators), ALL_OFF));
    try (ClusterCalls cluster = LateRenewal.calls(sealed, curators, steps.log())) {
      ByteString half =
          cluster
              .call(wait, ALL_OFF, leader -> leader.joinNode(JoinNodeRequest.getDefaultInstance()))
              .getClusterUnlockKey();
      return Secret.take(half.toByteArray());
    } catch (StatusException refused) {
      throw new EnrolmentException(
          "the cluster does not give its half of the volume key: "
              + refused.getStatus().getDescription(),
          refused);
    }
  }

  private Secret fromRecoveryShare(StorageSecurity security) throws FileException {
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

  /** Returns why credentials are of no use: a whole certificate of another CA is not damaged. */
  static String why(String certificate, CaBundle ca, PkiException unusable) {
    try {
      X509Certificate found = Pem.certificate(certificate);
      if (!ca.issued(found)) {
        return "are not of this cluster: their certificate is issued by %s, and not by the cluster's CA %s"
            .formatted(found.getIssuerX500Principal(), ca.issuing().getSubjectX500Principal());
      }
    } catch (PkiException unreadable) {
      return "are damaged: " + unreadable.getMessage();
    }
    return "are damaged: " + unusable.getMessage();
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
    } catch (PkiException unusable) {
      throw new EnrolmentException(
          "the credentials in %s %s; bring the folder back from a copy of this disk; nothing was changed"
              .formatted(
                  files.path(),
                  why(text(files.certificate().read().orThrow()), sealed.clusterCa(), unusable)),
          unusable);
    }
    if (!credentials.ca().sharesWith(sealed.clusterCa())) {
      throw new EnrolmentException(
          "%s holds the credentials of another cluster (CA %s) than the sealed configuration (CA %s);"
                  .formatted(
                      files,
                      credentials.ca().issuing().getSerialNumber(),
                      sealed.clusterCa().issuing().getSerialNumber())
              + " bring the esp and the data of one node together again");
    }
    return credentials;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
