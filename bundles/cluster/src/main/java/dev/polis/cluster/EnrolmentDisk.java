package dev.polis.cluster;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Timestamp;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.digest.Sha256;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.wire.common.ClusterDirectory;
import dev.polis.wire.common.NodeTPMUsage;
import dev.polis.wire.storage.EnrolmentJournal;
import dev.polis.wire.storage.EnrolmentJournal.Flow;
import dev.polis.wire.storage.EnrolmentJournal.Step;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.InstantSource;

/**
 * Writes what becoming a member leaves on the disk: the journal, the credentials, the sealed
 * configuration. The journal only moves forward, and a completed step is not written again.
 */
final class EnrolmentDisk {

  /** The version of the journal that this code writes and understands. */
  private static final int JOURNAL_FORMAT = 1;

  /** Makes the first entry of a journal. */
  @FunctionalInterface
  interface Begin {
    /** Adds the keys, and what is decided already. */
    EnrolmentJournal.Builder fill(EnrolmentJournal.Builder journal) throws Exception;
  }

  private final EnrolmentOrgans organs;
  private final EnrolmentSteps steps;
  private final InstantSource clock;

  EnrolmentDisk(EnrolmentOrgans organs, EnrolmentSteps steps, InstantSource clock) {
    this.organs = organs;
    this.steps = steps;
    this.clock = clock;
  }

  /**
   * Opens the journal of a flow, or begins one.
   *
   * @param parameters must be the same at each start, until the enrolment is complete
   */
  EnrolmentJournal open(Flow flow, MessageLite parameters, Begin begin)
      throws InterruptedException {
    byte[] digest = Sha256.begin().digest(parameters.toByteArray());
    return steps.step("enrolment journal", wait -> open(flow, digest, begin));
  }

  private EnrolmentJournal open(Flow flow, byte[] digest, Begin begin) throws Exception {
    return switch (organs.storage().enrolmentJournal().read()) {
      case Stored.None<EnrolmentJournal> none -> begin(flow, digest, begin);
      case Stored.Present<EnrolmentJournal>(var path, var journal) -> {
        requireSame(journal, flow, digest, path.toString());
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

  private static void requireSame(EnrolmentJournal journal, Flow flow, byte[] digest, String path) {
    if (journal.getFormat() != JOURNAL_FORMAT || journal.getFlow() != flow) {
      throw new EnrolmentException(
          "%s has format %d and flow %s; these node parameters continue only format %d and flow %s"
              .formatted(path, journal.getFormat(), journal.getFlow(), JOURNAL_FORMAT, flow));
    }
    if (!MessageDigest.isEqual(journal.getParametersDigest().toByteArray(), digest)) {
      throw new EnrolmentException(
          "the node parameters differ from those with which the enrolment in %s began; put the former"
                  .formatted(path)
              + " ones back, or choose an empty state directory to begin again");
    }
  }

  private EnrolmentJournal begin(Flow flow, byte[] digest, Begin begin) throws Exception {
    EnrolmentJournal.Builder journal =
        EnrolmentJournal.newBuilder()
            .setFormat(JOURNAL_FORMAT)
            .setFlow(flow)
            .setParametersDigest(ByteString.copyFrom(digest))
            .setStartedAt(now());
    return advance(begin.fill(journal).build(), Step.STEP_KEYS_GENERATED);
  }

  /** Returns whether an earlier run has brought the enrolment at least that far. */
  static boolean reached(EnrolmentJournal journal, Step step) {
    return journal.getStepValue() >= step.getNumber();
  }

  /** Records a step. This neither repeats nor reverts a record of an earlier run. */
  EnrolmentJournal advance(EnrolmentJournal journal, Step step) throws InterruptedException {
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

  /** Makes the data volume, with a recovery share if the owner has a recovery key. */
  EnrolmentJournal makeVolume(
      EnrolmentJournal journal, EnrolmentKeys keys, ByteString recoveryPublicKey)
      throws InterruptedException {
    StorageSecurity security = SecurityPolicy.ofWire(journal.getStorageSecurity());
    steps.step(
        "data volume",
        wait -> {
          wait.detail("making it, " + security);
          organs.storage().mountNew(security, keys.unlock());
          if (!reached(journal, Step.STEP_VOLUME_CREATED) && !recoveryPublicKey.isEmpty()) {
            organs
                .storage()
                .recoveryShare()
                .seal(keys.unlock().cluster(), recoveryPublicKey.toByteArray());
          }
          organs.network().publishLocalName(keys.id());
          return security.toString();
        });
    return advance(journal, Step.STEP_VOLUME_CREATED);
  }

  /** Records the certificates that the cluster has issued. */
  EnrolmentJournal committed(EnrolmentJournal journal, NodeCredentials credentials)
      throws InterruptedException {
    return advance(
        journal.toBuilder()
            .setCaCertificate(ByteString.copyFrom(Pem.der(credentials.ca().issuing())))
            .setNodeCertificate(ByteString.copyFrom(Pem.der(credentials.certificate())))
            .build(),
        Step.STEP_COMMITTED);
  }

  /**
   * Saves the credentials, then seals the configuration, then erases the journal.
   *
   * @param journal committed
   * @param directory where this node finds curators at its next start
   */
  void complete(
      EnrolmentJournal journal,
      EnrolmentKeys keys,
      NodeCredentials credentials,
      ClusterDirectory directory)
      throws InterruptedException {
    if (!reached(journal, Step.STEP_CREDENTIALS_SAVED)) {
      steps.step("node credentials", wait -> save(credentials, directory));
    }
    EnrolmentJournal saved = advance(journal, Step.STEP_CREDENTIALS_SAVED);
    StorageSecurity security = SecurityPolicy.ofWire(journal.getStorageSecurity());
    steps.step("sealed configuration", wait -> seal(journal, keys, credentials.ca(), security));
    advance(saved, Step.STEP_DONE);
    steps.step("enrolment journal erased", wait -> erase());
  }

  private String save(NodeCredentials credentials, ClusterDirectory directory) throws Exception {
    var files = organs.storage().root().data().node().credentials();
    files.key().write(Pem.encode(credentials.privateKey()).getBytes(StandardCharsets.UTF_8));
    files.clusterCa().write(credentials.ca().pemBytes());
    files
        .certificate()
        .write(Pem.encode(credentials.certificate()).getBytes(StandardCharsets.UTF_8));
    organs.storage().root().esp().clusterDirectory().write(directory);
    return credentials.id().text();
  }

  private String seal(
      EnrolmentJournal journal, EnrolmentKeys keys, CaBundle ca, StorageSecurity security)
      throws Exception {
    boolean bind = journal.getTpmUsage() == NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED;
    if (bind && journal.getFlow() == Flow.FLOW_BOOTSTRAP) {
      // No other node could give this half when this one comes back.
      organs.storage().machineShare().write(keys.unlock().cluster());
    }
    SealedConfigurationStore store = organs.storage().sealedConfiguration();
    SealedConfiguration sealed =
        new SealedConfiguration(
            keys.unlock().node(),
            Secret.take(Ed25519.seed(keys.join().getPrivate())),
            ca,
            security);
    if (bind) {
      store.write(sealed);
    } else {
      store.writeUnbound(sealed);
    }
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
}
