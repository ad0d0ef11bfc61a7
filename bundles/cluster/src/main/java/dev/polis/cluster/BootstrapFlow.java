package dev.polis.cluster;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.NodeLabels;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.digest.Sha256;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.storage.EnrolmentJournal;
import dev.polis.wire.storage.EnrolmentJournal.Flow;
import dev.polis.wire.storage.EnrolmentJournal.Step;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;

/**
 * Creates a cluster whose first node is this one. Each step is repeatable, and the journal on the
 * ESP records the completed ones: after a crash the flow starts at the first step and reaches the
 * same result. The journal only moves forward, and the flow does not record a step twice.
 */
final class BootstrapFlow {

  /** The version of the journal that this code writes and understands. */
  private static final int JOURNAL_FORMAT = 1;

  private final EnrolmentOrgans organs;
  private final EnrolmentSteps steps;
  private final SecureRandom random;
  private final InstantSource clock;

  BootstrapFlow(
      EnrolmentOrgans organs, EnrolmentSteps steps, SecureRandom random, InstantSource clock) {
    this.organs = organs;
    this.steps = steps;
    this.random = random;
    this.clock = clock;
  }

  /**
   * Creates the cluster, or continues an interrupted run.
   *
   * @return the node's credentials, with all their data on the disk
   * @throws EnrolmentException if a step fails, naming the step
   */
  NodeCredentials run(ClusterBootstrap parameters) throws InterruptedException {
    InetAddress address = steps.step("network address", organs::awaitAddress);
    EnrolmentJournal journal = steps.step("enrolment journal", wait -> open(parameters));
    Keys keys = Keys.of(journal);
    NodeId id = NodeId.of(keys.node().getPublic());
    steps.log().info("this node is %s", id);
    StorageSecurity security = SecurityPolicy.ofWire(journal.getStorageSecurity());
    steps.step(
        "data volume",
        wait -> {
          wait.detail("making it, " + security);
          organs.storage().mountNew(security, keys.unlock());
          if (!reached(journal, Step.STEP_VOLUME_CREATED)) {
            sealRecoveryShare(parameters, keys);
          }
          organs.network().publishLocalName(id);
          return security.toString();
        });
    EnrolmentJournal mounted = advance(journal, Step.STEP_VOLUME_CREATED);
    steps.step("consensus", wait -> organs.startNewConsensus(keys.node().getPrivate(), wait));
    BootstrapOutcome outcome =
        steps.step(
            "cluster records",
            wait -> organs.curator().bootstrap(request(parameters, journal, keys, id)));
    EnrolmentJournal committed =
        advance(
            mounted.toBuilder()
                .setCaCertificate(ByteString.copyFrom(Pem.der(outcome.clusterCa())))
                .setNodeCertificate(ByteString.copyFrom(Pem.der(outcome.node())))
                .build(),
            Step.STEP_COMMITTED);
    NodeCredentials credentials =
        new NodeCredentials(keys.node().getPrivate(), outcome.node(), outcome.clusterCa());
    if (!reached(journal, Step.STEP_CREDENTIALS_SAVED)) {
      steps.step("node credentials", wait -> save(credentials, address));
    }
    EnrolmentJournal saved = advance(committed, Step.STEP_CREDENTIALS_SAVED);
    steps.step("sealed configuration", wait -> seal(keys, outcome.clusterCa(), security));
    advance(saved, Step.STEP_DONE);
    steps.step("enrolment journal erased", wait -> erase());
    return credentials;
  }

  private EnrolmentJournal open(ClusterBootstrap parameters) throws Exception {
    byte[] digest = Sha256.begin().digest(parameters.toByteArray());
    return switch (organs.storage().enrolmentJournal().read()) {
      case Stored.None<EnrolmentJournal> none -> begin(parameters, digest);
      case Stored.Present<EnrolmentJournal>(var path, var journal) -> {
        requireSame(journal, digest, path.toString());
        steps.log().info("continuing the enrolment in %s after %s", path, journal.getStep());
        yield journal;
      }
      case Stored.Corrupted<EnrolmentJournal> corrupted -> {
        corrupted.orThrow();
        throw new AssertionError("a corrupted journal has no value");
      }
      case Stored.Unreadable<EnrolmentJournal> unreadable -> throw unreadable.cause();
    };
  }

  private static void requireSame(EnrolmentJournal journal, byte[] digest, String path) {
    if (journal.getFormat() != JOURNAL_FORMAT || journal.getFlow() != Flow.FLOW_BOOTSTRAP) {
      throw new EnrolmentException(
          "%s has format %d and flow %s; this version continues only format %d and flow %s"
              .formatted(
                  path,
                  journal.getFormat(),
                  journal.getFlow(),
                  JOURNAL_FORMAT,
                  Flow.FLOW_BOOTSTRAP));
    }
    if (!MessageDigest.isEqual(journal.getParametersDigest().toByteArray(), digest)) {
      throw new EnrolmentException(
          "the node parameters differ from those with which the enrolment in %s began; put the former"
                  .formatted(path)
              + " ones back, or choose an empty state directory to begin again");
    }
  }

  private EnrolmentJournal begin(ClusterBootstrap parameters, byte[] digest) throws Exception {
    ClusterConfiguration configuration =
        parameters.hasInitialClusterConfiguration()
            ? parameters.getInitialClusterConfiguration()
            : SecurityPolicy.defaults();
    StorageSecurity security =
        SecurityPolicy.security(
            configuration.getStorageSecurityPolicy(), organs.storage().preferred());
    organs.storage().require(security);
    UnlockKeys unlock = UnlockKeys.generate(random);
    EnrolmentJournal journal =
        EnrolmentJournal.newBuilder()
            .setFormat(JOURNAL_FORMAT)
            .setFlow(Flow.FLOW_BOOTSTRAP)
            .setParametersDigest(ByteString.copyFrom(digest))
            .setNodePrivateKey(seedOf(Ed25519.generate()))
            .setJoinPrivateKey(seedOf(Ed25519.generate()))
            .setNodeUnlockKey(ByteString.copyFrom(unlock.node().reveal()))
            .setClusterUnlockKey(ByteString.copyFrom(unlock.cluster().reveal()))
            .setStorageSecurity(SecurityPolicy.wire(security))
            .setTpmUsage(SecurityPolicy.tpm(configuration.getTpmMode(), organs.hasTpm()))
            .setClusterConfiguration(configuration)
            .setStartedAt(now())
            .build();
    return advance(journal, Step.STEP_KEYS_GENERATED);
  }

  private static ByteString seedOf(KeyPair pair) {
    return ByteString.copyFrom(Ed25519.seed(pair.getPrivate()));
  }

  /** Returns whether an earlier run has reached this step. */
  private static boolean reached(EnrolmentJournal journal, Step step) {
    return journal.getStepValue() >= step.getNumber();
  }

  /** Records a step, unless an earlier run has recorded it or a later one. */
  private EnrolmentJournal advance(EnrolmentJournal journal, Step step)
      throws InterruptedException {
    if (reached(journal, step)) {
      return journal;
    }
    EnrolmentJournal advanced = journal.toBuilder().setStep(step).setUpdatedAt(now()).build();
    return steps.step(
        "journal entry " + step,
        wait -> {
          organs.storage().enrolmentJournal().advance(advanced);
          return advanced;
        });
  }

  private void sealRecoveryShare(ClusterBootstrap parameters, Keys keys) throws Exception {
    if (!parameters.getRecoveryPublicKey().isEmpty()) {
      organs
          .storage()
          .recoveryShare()
          .seal(keys.unlock().cluster(), parameters.getRecoveryPublicKey().toByteArray());
    }
  }

  private BootstrapRequest request(
      ClusterBootstrap parameters, EnrolmentJournal journal, Keys keys, NodeId id) {
    return new BootstrapRequest(
        id,
        keys.node().getPublic(),
        keys.join().getPublic(),
        keys.unlock().cluster(),
        journal.getStorageSecurity(),
        Ed25519.publicKey(parameters.getOwnerPublicKey().toByteArray()),
        journal.getClusterConfiguration(),
        journal.getTpmUsage(),
        NodeLabels.of(NodeParametersLoader.sanitized(parameters.getLabels(), steps.log())));
  }

  private String save(NodeCredentials credentials, InetAddress address) throws Exception {
    var files = organs.storage().root().data().node().credentials();
    files.key().write(Pem.encode(credentials.privateKey()).getBytes(StandardCharsets.UTF_8));
    files.clusterCa().write(Pem.encode(credentials.ca()).getBytes(StandardCharsets.UTF_8));
    files
        .certificate()
        .write(Pem.encode(credentials.certificate()).getBytes(StandardCharsets.UTF_8));
    var directory =
        ClusterDirectory.newBuilder()
            .addNodes(
                ClusterDirectory.Node.newBuilder()
                    .setId(credentials.id().text())
                    .addAddresses(
                        ClusterDirectory.Node.Address.newBuilder()
                            .setHost(address.getHostAddress())));
    organs.storage().root().esp().clusterDirectory().write(directory.build());
    return credentials.id().text();
  }

  private String seal(Keys keys, X509Certificate ca, StorageSecurity security) throws Exception {
    organs
        .storage()
        .sealedConfiguration()
        .write(
            new SealedConfiguration(
                keys.unlock().node(),
                Secret.take(Ed25519.seed(keys.join().getPrivate())),
                ca,
                security));
    return "";
  }

  private String erase() throws Exception {
    organs.storage().enrolmentJournal().erase();
    return "";
  }

  private Timestamp now() {
    Instant instant = clock.instant();
    return Timestamp.newBuilder()
        .setSeconds(instant.getEpochSecond())
        .setNanos(instant.getNano())
        .build();
  }

  /** Holds the keys of a journal. */
  private record Keys(KeyPair node, KeyPair join, UnlockKeys unlock) {
    static Keys of(EnrolmentJournal journal) {
      return new Keys(
          pair(journal.getNodePrivateKey()),
          pair(journal.getJoinPrivateKey()),
          new UnlockKeys(
              Secret.of(journal.getNodeUnlockKey().toByteArray()),
              Secret.of(journal.getClusterUnlockKey().toByteArray())));
    }

    private static KeyPair pair(ByteString seed) {
      PrivateKey privateKey = Ed25519.privateKeyFromSeed(seed.toByteArray());
      PublicKey publicKey = Ed25519.publicKey(privateKey);
      return new KeyPair(publicKey, privateKey);
    }
  }
}
