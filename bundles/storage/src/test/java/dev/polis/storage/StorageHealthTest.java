package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.RecoveryStatus;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.logtree.Secret;
import dev.polis.pki.RecoveryKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Derives from real files what a volume needs to open after a power-off, and its health. */
class StorageHealthTest {

  private static final DataStatus.Mounted ENCRYPTED =
      new DataStatus.Mounted(
          StorageSecurity.ENCRYPTED, "a test", "AUTHENTICATED_ENCRYPTED needs X");
  private static final DataStatus.Mounted INSECURE =
      new DataStatus.Mounted(StorageSecurity.INSECURE, "a test", "");

  @TempDir Path directory;
  private final Secret half = Secret.of("0123456789abcdef0123456789ABCDEF");
  private final String key = RecoveryKey.generate();
  private Root root;
  private RecoveryShareFile share;
  private RecoveryCheck check;

  @BeforeEach
  void open() throws Exception {
    root = StateDirectory.prepare(directory);
    share = new RecoveryShareFile(root.esp().recoveryShare());
    check = new RecoveryCheck(root, share);
  }

  private List<String> codes(DataStatus.Mounted mounted) {
    return StorageHealth.ofMounted(mounted, check.of(mounted)).stream()
        .map(condition -> condition.level() + " " + condition.code())
        .toList();
  }

  private Path putKeyBeside(String pem) throws Exception {
    Path file = Files.createDirectories(directory.resolve("owner")).resolve("recovery-key.pem");
    return Files.writeString(file, pem);
  }

  @Test
  void theSecurityOfTheVolumeIsAConditionWithWhatAStrongerOneNeeds() {
    HealthCondition condition =
        StorageHealth.ofMounted(ENCRYPTED, new RecoveryStatus.NotNeeded()).getFirst();
    assertEquals(HealthLevel.UP, condition.level());
    assertEquals(
        "the data volume is ENCRYPTED, a test. AUTHENTICATED_ENCRYPTED needs X",
        condition.reason());
  }

  @Test
  void anEncryptedVolumeWithoutARecoveryShareIsDegraded() {
    assertEquals(List.of("UP volume-security", "DEGRADED no-recovery-share"), codes(ENCRYPTED));
  }

  @Test
  void aVolumeThatIsNotEncryptedNeedsNoKey() throws Exception {
    share.seal(half, RecoveryKey.publicKey(key));
    putKeyBeside(key);
    assertEquals(List.of("UP volume-security"), codes(INSECURE));
  }

  @Test
  void aRecoveryKeyBesideTheVolumeIsDegradedUntilItIsMoved() throws Exception {
    share.seal(half, RecoveryKey.publicKey(key));
    Path file = putKeyBeside(key);
    assertEquals(
        List.of("UP volume-security", "DEGRADED recovery-key-beside-volume"), codes(ENCRYPTED));
    RecoveryStatus.KeyBesideVolume beside =
        assertInstanceOf(RecoveryStatus.KeyBesideVolume.class, check.of(ENCRYPTED));
    assertEquals(file, beside.key());
    assertEquals(
        "move it to another disk: ./polis ctl --state %s recovery-key move FILE"
            .formatted(file.getParent().getParent()),
        beside.advice().orElseThrow().remedy());
    Files.delete(file);
    assertEquals(List.of("UP volume-security"), codes(ENCRYPTED));
  }

  @Test
  void aFormerKeyBesideTheVolumeDoesNoHarm() throws Exception {
    share.seal(half, RecoveryKey.publicKey(key));
    putKeyBeside(RecoveryKey.generate());
    assertEquals(List.of("UP volume-security"), codes(ENCRYPTED));
    putKeyBeside("no key at all");
    assertEquals(List.of("UP volume-security"), codes(ENCRYPTED));
  }

  @Test
  void aDamagedShareIsDegraded() throws Exception {
    root.esp().recoveryShare().write(new byte[] {1, 2, 3});
    assertEquals(
        List.of("UP volume-security", "DEGRADED recovery-share-damaged"), codes(ENCRYPTED));
    root.esp().recoveryShare().write(new byte[0]);
    assertEquals(
        List.of("UP volume-security", "DEGRADED recovery-share-damaged"), codes(ENCRYPTED));
  }

  @Test
  void nothingIsSaidWhileTheJournalHoldsTheKey() throws Exception {
    root.esp().enrolmentJournal().write(new byte[] {1});
    assertInstanceOf(RecoveryStatus.Pending.class, check.of(ENCRYPTED));
    assertEquals(List.of("UP volume-security"), codes(ENCRYPTED));
  }
}
