package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Mode;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SealedConfigurationFileTest {

  @TempDir Path directory;
  private final UnlockKeys keys = UnlockKeys.generate(new SecureRandom());
  private VolumeBench bench;
  private FilePlacement file;
  private SealedConfiguration configuration;

  @BeforeEach
  void open() throws Exception {
    bench = new VolumeBench(directory, StorageSecurity.INSECURE);
    file = bench.root.esp().sealedConfiguration();
    configuration =
        new SealedConfiguration(
            keys.node(), Secret.of("join"), Certificates.ca(), StorageSecurity.INSECURE);
  }

  private SealedConfigurationFile sealedBy(Sealer sealer) {
    return new SealedConfigurationFile(
        file,
        bench.root.esp().recoveryConfiguration(),
        new RecoveryShareFile(bench.root.esp().recoveryShare()),
        sealer,
        () -> {});
  }

  @AfterEach
  void close() {
    bench.close();
  }

  @Test
  void whatWasWrittenIsRead() throws Exception {
    bench.sealed.write(configuration);
    assertEquals(configuration, bench.sealed.read().orThrow());
    assertEquals(Mode.SECRET.permissions(), Files.getPosixFilePermissions(file.path()));
  }

  @Test
  @DisplayName("the CAs of a rotation are read in their order")
  void twoCas() throws Exception {
    SealedConfiguration during =
        configuration.trusting(new CaBundle(List.of(Certificates.ca(), Certificates.ca())));
    bench.sealed.write(during);
    assertEquals(during, bench.sealed.read().orThrow());
  }

  private enum Damage {
    EMPTY,
    TRUNCATED,
    RANDOM,
    BIT_FLIPPED,
    PLAIN_MESSAGE,
    A_DIRECTORY,
    SEALED_BY_TPM;

    private void apply(SealedConfigurationFileTest test) throws Exception {
      byte[] whole = Files.readAllBytes(test.file.path());
      byte[] random = new byte[500];
      new SecureRandom().nextBytes(random);
      switch (this) {
        case EMPTY -> test.file.write(new byte[0]);
        case TRUNCATED -> test.file.write(Arrays.copyOf(whole, whole.length - 1));
        case RANDOM -> test.file.write(random);
        case BIT_FLIPPED -> {
          whole[whole.length / 2] ^= 1;
          test.file.write(whole);
        }
        case PLAIN_MESSAGE ->
            test.file.write(Envelope.decode("sealed-configuration", whole).payload());
        case A_DIRECTORY -> {
          test.file.delete();
          Files.createDirectory(test.file.path());
        }
        case SEALED_BY_TPM -> {
          Files.delete(test.file.path());
          test.sealedBy(new Scrambler()).write(test.configuration);
        }
      }
    }

    private boolean unreadable() {
      return this == A_DIRECTORY || this == SEALED_BY_TPM;
    }
  }

  /** Stands for a TPM. */
  private static final class Scrambler implements Sealer {
    @Override
    public String name() {
      return "tpm";
    }

    @Override
    public byte[] seal(byte[] plain) {
      return flipped(plain);
    }

    @Override
    public byte[] unseal(byte[] sealed) {
      return flipped(sealed);
    }

    private static byte[] flipped(byte[] bytes) {
      byte[] other = bytes.clone();
      for (int i = 0; i < other.length; i++) {
        other[i] ^= 0x55;
      }
      return other;
    }
  }

  @ParameterizedTest
  @EnumSource
  @Tag("attack")
  @DisplayName("STO-03 each damage is distinguished from absence, and never leads to a new volume")
  void sto03_damage(Damage damage) throws Exception {
    bench.manager.mountNew(StorageSecurity.INSECURE, keys);
    bench.root.data().node().roles().write(new byte[] {1});
    bench.sealed.write(configuration);
    damage.apply(this);
    String before = Shell.digest(bench.root.data().path());

    Stored<SealedConfiguration> read = bench.sealed.read();
    Class<?> wanted = damage.unreadable() ? Stored.Unreadable.class : Stored.Corrupted.class;
    assertEquals(wanted, read.getClass());
    for (UnlockKeys asked : new UnlockKeys[] {keys, UnlockKeys.generate(new SecureRandom())}) {
      FileException refusal =
          assertThrows(
              FileException.class, () -> bench.manager.mountNew(StorageSecurity.INSECURE, asked));
      assertTrue(
          refusal.getMessage().contains(file.toString()),
          "it names the file: " + refusal.getMessage());
    }
    assertEquals(before, Shell.digest(bench.root.data().path()), "the volume was changed");
  }

  @Test
  @DisplayName("STO-03 a missing file beside an existing volume never leads to a new volume")
  void sto03_missing() throws Exception {
    bench.manager.mountNew(StorageSecurity.INSECURE, keys);
    assertInstanceOf(Stored.None.class, bench.sealed.read());
    FileException refusal =
        assertThrows(
            FileException.class,
            () ->
                bench.manager.mountNew(
                    StorageSecurity.INSECURE, UnlockKeys.generate(new SecureRandom())));
    assertEquals(Problem.OCCUPIED, refusal.problem());
  }

  @Test
  @DisplayName(
      "STO-03 only the sealer that sealed the file opens it, and the content is not readable in it")
  void sto03_sealed() throws Exception {
    SealedConfigurationFile sealed = sealedBy(new Scrambler());
    sealed.write(configuration);
    assertEquals(configuration, sealed.read().orThrow());
    assertFalse(Shell.contains(file.path(), "join"));
    Stored.Unreadable<?> plain = assertInstanceOf(Stored.Unreadable.class, bench.sealed.read());
    assertTrue(
        plain.reason().contains("sealed by \"tpm\", this node has \"none\""), plain.reason());
  }

  @Test
  @DisplayName("D-09 a volume of another node and a lost volume are refused with the reason")
  void d09_foreignOrLost() throws Exception {
    FileException lost =
        assertThrows(FileException.class, () -> bench.manager.mountExisting(configuration));
    assertEquals(Problem.ABSENT, lost.problem(), lost.getMessage());
    bench.manager.mountNew(StorageSecurity.INSECURE, UnlockKeys.generate(new SecureRandom()));
    bench.manager.close();
    FileException foreign =
        assertThrows(FileException.class, () -> bench.manager.mountExisting(configuration));
    assertEquals(Refusal.FOREIGN, ((StorageException) foreign).refusal(), foreign.getMessage());
    assertInstanceOf(DataStatus.NotMounted.class, bench.manager.status().peek().orElseThrow());
  }

  @Test
  @DisplayName("D-09 a data directory with foreign content is left alone")
  void d09_filledDirectory() throws Exception {
    Files.createDirectories(bench.root.data().path());
    Files.writeString(bench.root.data().path().resolve("photo"), "of a person");
    String before = Shell.digest(directory);
    for (StorageSecurity security : StorageSecurity.values()) {
      FileException refusal =
          assertThrows(
              FileException.class, () -> bench.manager.mountNew(security, keys), "" + security);
      assertTrue(
          refusal.problem() != Problem.OCCUPIED || refusal.getMessage().contains("data"),
          refusal.getMessage());
    }
    assertEquals(before, Shell.digest(directory));
  }

  @Test
  void aDamagedMarkerStopsEverything() throws Exception {
    bench.root.esp().volumeFormat().write(new byte[] {1, 2, 3});
    FileException refusal =
        assertThrows(
            FileException.class, () -> bench.manager.mountNew(StorageSecurity.INSECURE, keys));
    assertEquals(Problem.CORRUPTED, refusal.problem(), refusal.getMessage());
  }
}
