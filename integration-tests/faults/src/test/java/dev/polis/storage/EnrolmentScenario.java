package dev.polis.storage;

import com.google.protobuf.ByteString;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.logtree.Secret;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.storage.EnrolmentJournal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Set;

/**
 * Goes through an enrolment with the stores of the storage organ: the journal's steps, the marks of
 * a volume, the recovery share, the credentials, the sealed configuration.
 */
final class EnrolmentScenario implements PowerScenario {

  private final UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
  private final CertificateAuthority authority = CertificateAuthority.create("a cluster");
  private final KeyPair node = Ed25519.generate();
  private final X509Certificate first = authority.issueNode(node.getPublic());
  private final X509Certificate renewed = authority.issueNode(node.getPublic());
  private final byte[] recoveryKey = RecoveryKey.publicKey(RecoveryKey.generate());

  @Override
  public List<Step> steps() {
    return List.of(
        root -> StateDirectory.prepare(root),
        root -> advance(root, EnrolmentJournal.Step.STEP_KEYS_GENERATED),
        root -> marks(root).begin(volume(root), "these keys"),
        root -> marks(root).identify(volume(root), "these keys"),
        root -> marks(root).end(),
        root -> share(root).seal(keys.cluster(), recoveryKey),
        root -> advance(root, EnrolmentJournal.Step.STEP_VOLUME_CREATED),
        root -> advance(root, EnrolmentJournal.Step.STEP_COMMITTED),
        root -> save(root),
        root -> advance(root, EnrolmentJournal.Step.STEP_CREDENTIALS_SAVED),
        root -> sealed(root).write(configuration()),
        root -> journal(root).erase(),
        root ->
            Root.at(root)
                .data()
                .node()
                .credentials()
                .certificate()
                .write(pem(Pem.encode(renewed))));
  }

  private void advance(Path root, EnrolmentJournal.Step step) throws Exception {
    journal(root)
        .advance(
            EnrolmentJournal.newBuilder()
                .setFormat(1)
                .setStep(step)
                .setNodeUnlockKey(ByteString.copyFrom(keys.node().reveal()))
                .setClusterUnlockKey(ByteString.copyFrom(keys.cluster().reveal()))
                .build());
  }

  /** Writes them in the order of the cluster organ, the certificate last. */
  private void save(Path root) throws Exception {
    var files = Root.at(root).data().node().credentials();
    files.key().write(pem(Pem.encode(node.getPrivate())));
    files.clusterCa().write(pem(Pem.encode(authority.certificate())));
    files.certificate().write(pem(Pem.encode(first)));
  }

  private SealedConfiguration configuration() {
    return new SealedConfiguration(
        keys.node(), Secret.of("join"), authority.certificate(), StorageSecurity.INSECURE);
  }

  private static byte[] pem(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static EnrolmentJournalFile journal(Path root) {
    return new EnrolmentJournalFile(Root.at(root).esp().enrolmentJournal());
  }

  private static SealedConfigurationFile sealed(Path root) {
    return new SealedConfigurationFile(
        Root.at(root).esp().sealedConfiguration(),
        Root.at(root).esp().recoveryConfiguration(),
        new RecoveryShareFile(Root.at(root).esp().recoveryShare()),
        new SealerNone(),
        () -> {});
  }

  private static RecoveryShareFile share(Path root) {
    return new RecoveryShareFile(Root.at(root).esp().recoveryShare());
  }

  private static VolumeMarks marks(Path root) {
    return new VolumeMarks(Root.at(root));
  }

  private static Volume volume(Path root) {
    return new VolumePlain(Root.at(root));
  }

  @Override
  public String observe(Path root) throws Exception {
    return "esp %s, journal %s, begun %s, identity %s, share %s, credentials %s, sealed %s"
        .formatted(
            Root.at(root).esp().exists(),
            journal(root).read() instanceof Stored.None
                ? "none"
                : journal(root).read().orThrow().getStep(),
            marks(root).begun(),
            Root.at(root).data().volume().exists() && marks(root).madeAs(volume(root)),
            share(root).exists()
                ? share(root).read().orThrow().getRecoveryPublicKey().size()
                : "none",
            credentials(root),
            sealed(root).read() instanceof Stored.None
                ? "none"
                : sealed(root).read().orThrow().equals(configuration()));
  }

  @Override
  public Set<Class<? extends Exception>> refusals() {
    return Set.of(FileException.class);
  }

  /**
   * Reads the credentials; without a certificate the enrolment continues, and writes key and CA
   * again.
   */
  private static String credentials(Path root) throws Exception {
    var files = Root.at(root).data().node().credentials();
    if (!files.certificate().exists()) {
      return "none";
    }
    return NodeCredentials.fromPem(
            text(files.key().read().orThrow()),
            text(files.certificate().read().orThrow()),
            text(files.clusterCa().read().orThrow()))
        .certificate()
        .getSerialNumber()
        .toString();
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Returns the cluster's half of the volume key, which each version of the journal holds. */
  @Override
  public List<byte[]> erased() {
    return List.of(keys.cluster().reveal());
  }

  /** Allows a journal of zeros, which is being erased after the enrolment is complete. */
  @Override
  public boolean underWay(String observed) {
    return observed.startsWith("refused") && observed.contains("enrolment_journal");
  }
}
