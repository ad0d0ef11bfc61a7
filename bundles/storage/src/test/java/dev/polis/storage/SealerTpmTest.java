package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.BootFiles;
import dev.polis.fixtures.SoftwareTpm;
import dev.polis.logtree.Secret;
import dev.polis.process.Commands;
import dev.polis.storage.slots.BootFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bouncycastle.crypto.params.X25519PrivateKeyParameters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Seals with a TPM that swtpm emulates; the programs and their protocol are the real ones. */
@Tag("full")
class SealerTpmTest {

  private static final byte[] CONTENT =
      "the node's half of a key, and more than a TPM holds".repeat(20).getBytes();
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final SealedConfigurationFile.Settled TRIAL =
      () -> {
        throw new FileException(Problem.DENIED, "a trial", "wait");
      };

  @TempDir Path directory;
  private Tpm tpm;
  private SealerTpm sealer;

  /** Runs one TPM, whose objects are removed after each command. */
  private static final class Tpm extends Commands implements AutoCloseable {
    private final SoftwareTpm device;
    private final String tcti;

    Tpm(Path folder) throws Exception {
      device = new SoftwareTpm(folder);
      tcti = device.tcti();
    }

    @Override
    public Result run(Duration within, List<String> command, byte[] input)
        throws IOException, InterruptedException {
      Result result = super.run(within, command, input);
      device.flush();
      if (command.getFirst().equals("tpm2_unseal")) {
        // The kernel's resource manager, which is not here, ends the session of this program.
        super.run(
            within, List.of("tpm2_flushcontext", "--tcti", tcti, "--loaded-session"), new byte[0]);
      }
      return result;
    }

    void extend(int pcr) throws Exception {
      extend(pcr, "ab".repeat(32));
    }

    void extend(int pcr, String digest) throws Exception {
      device.extend(List.of(pcr + ":sha256=" + digest));
    }

    @Override
    public void close() {
      device.close();
    }
  }

  @BeforeEach
  void start() throws Exception {
    SoftwareTpm.requirePrograms();
    tpm = new Tpm(directory.resolve("tpm"));
    sealer = new SealerTpm(tpm.tcti, tpm);
  }

  @AfterEach
  void end() throws Exception {
    if (tpm != null) {
      tpm.close();
    }
  }

  @Test
  @DisplayName("the machine that sealed unseals, and the content is not in the file")
  void unseals() throws Exception {
    byte[] sealed = sealer.seal(CONTENT);
    assertFalse(
        new String(sealed, java.nio.charset.StandardCharsets.ISO_8859_1).contains("half of a key"));
    assertArrayEquals(CONTENT, sealer.unseal(sealed));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "another boot file or other Secure Boot keys: refused, and the refusal names the PCR")
  void changedMeasurement() throws Exception {
    byte[] sealed = sealer.seal(CONTENT);
    tpm.extend(11);
    StorageException other = assertThrows(StorageException.class, () -> sealer.unseal(sealed));
    assertEquals(Refusal.WRONG_KEY, other.refusal());
    assertTrue(other.getMessage().contains("PCR 11 (the boot file"), other.getMessage());
    assertFalse(other.getMessage().contains("PCR 7 "), other.getMessage());
    tpm.extend(7);
    assertTrue(
        assertThrows(StorageException.class, () -> sealer.unseal(sealed))
            .getMessage()
            .contains("PCR 7 (Secure Boot and its keys) and PCR 11"));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a disk in another machine, and a TPM that was cleared: refused, and the refusal says so")
  void otherMachine() throws Exception {
    byte[] sealed = sealer.seal(CONTENT);
    try (Tpm second = new Tpm(directory.resolve("second"))) {
      StorageException foreign =
          assertThrows(
              StorageException.class, () -> new SealerTpm(second.tcti, second).unseal(sealed));
      assertEquals(Refusal.FOREIGN, foreign.refusal());
      assertTrue(foreign.getMessage().contains("comes from another machine"), foreign.getMessage());
    }
    assertTrue(tpm.run(PATIENCE, List.of("tpm2_clear", "--tcti", tpm.tcti)).ok());
    assertEquals(
        Refusal.FOREIGN,
        assertThrows(StorageException.class, () -> sealer.unseal(sealed)).refusal());
  }

  /** Restarts the TPM, and measures a boot file as firmware, loader and stub do. */
  private SealerTpm boot(Path file) throws Exception {
    tpm.close();
    tpm = new Tpm(directory.resolve("tpm"));
    Map<String, String> measured;
    try (BootFile booted = BootFile.read(file)) {
      measured = booted.measured();
    }
    MeasuredLog log = new MeasuredLog();
    for (String part : List.of("program", "kernel")) {
      log.measure(tpm, 4, measured.get(part));
    }
    for (String part : List.of(".linux", ".osrel", ".cmdline", ".initrd")) {
      log.measure(tpm, 11, measured.get(part));
    }
    log.measure(tpm, 12, measured.get("options"));
    return new SealerTpm(tpm.tcti, tpm, log.write(directory.resolve("log")));
  }

  /** Keeps the log of a firmware. */
  private static final class MeasuredLog {
    private final ByteBuffer log = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);

    MeasuredLog() {
      // The event that names the algorithms: SHA-1 and SHA-256.
      log.putInt(0).putInt(3).put(new byte[20]).putInt(24 + 4 + 8 + 1).put(new byte[24]);
      log.putInt(2).putShort((short) 4).putShort((short) 20);
      log.putShort((short) 0x0b).putShort((short) 32).put((byte) 0);
    }

    void measure(Tpm tpm, int pcr, String digest) throws Exception {
      tpm.extend(pcr, digest);
      log.putInt(pcr).putInt(0x0d).putInt(2).putShort((short) 4).put(new byte[20]);
      log.putShort((short) 0x0b).put(HexFormat.of().parseHex(digest)).putInt(2).putShort((short) 1);
    }

    Path write(Path file) throws IOException {
      return Files.write(file, Arrays.copyOf(log.array(), log.position()));
    }
  }

  private Path bootFile(char slot, String version) throws IOException {
    return Files.write(directory.resolve(slot + version), BootFiles.of(slot, version));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "after an update the boot from the other slot unseals, and the present one; a third one does not, also when the disk names it")
  void update() throws Exception {
    Path present = bootFile('a', "1");
    Path next = bootFile('b', "2");
    Path third = bootFile('b', "3");
    SealerTpm before = boot(present);
    before.alsoFor(present, next);
    byte[] sealed = before.seal(CONTENT);
    assertArrayEquals(CONTENT, before.unseal(sealed));

    Envelope named = Envelope.decode(SealerTpm.NAME, sealed);
    Map<String, String> fields = new LinkedHashMap<>(named.fields());
    fields.put("pcrs-other", "cd".repeat(32 * 4));
    byte[] forged = new Envelope(SealerTpm.NAME, fields, named.payload()).encode();
    assertEquals(
        Problem.CORRUPTED,
        assertThrows(FileException.class, () -> before.unseal(forged)).problem());

    SealerTpm after = boot(next);
    assertArrayEquals(CONTENT, after.unseal(sealed));
    byte[] again = after.seal(CONTENT);

    SealerTpm back = boot(present);
    assertArrayEquals(CONTENT, back.unseal(again), "the former system is the way back");

    SealerTpm other = boot(third);
    StorageException refused = assertThrows(StorageException.class, () -> other.unseal(again));
    assertEquals(Refusal.WRONG_KEY, refused.refusal());
  }

  private static SealedConfiguration configuration() {
    return new SealedConfiguration(
        UnlockKeys.generate(new SecureRandom()).node(),
        Secret.of("join"),
        Certificates.ca(),
        StorageSecurity.INSECURE);
  }

  private SealedConfigurationFile configurationBy(Sealer by) throws IOException {
    return configurationBy(by, () -> {});
  }

  private SealedConfigurationFile configurationBy(
      Sealer by, SealedConfigurationFile.Settled settled) throws IOException {
    var esp = Root.at(directory.resolve("state")).esp();
    Files.createDirectories(esp.sealedConfiguration().path().getParent());
    return new SealedConfigurationFile(
        esp.sealedConfiguration(),
        esp.recoveryConfiguration(),
        new RecoveryShareFile(esp.recoveryShare()),
        by,
        settled);
  }

  @Test
  @DisplayName(
      "the files of an update are sealed for its boot, also if something was unsealed in between, and a write in its trial keeps the way back")
  void updateOfTheFiles() throws Exception {
    SealedConfiguration configuration = configuration();
    Path present = bootFile('a', "1");
    Path next = bootFile('b', "2");
    SealerTpm before = boot(present);
    SealedConfigurationFile running = configurationBy(before);
    running.write(configuration);
    before.alsoFor(present, next);
    assertEquals(configuration, running.read().orThrow());
    running.reseal();

    configurationBy(boot(next)).write(configuration);
    assertEquals(configuration, configurationBy(boot(next)).read().orThrow());
    assertEquals(configuration, configurationBy(boot(present)).read().orThrow());
  }

  @Test
  @DisplayName(
      "a recovery in the trial of an update keeps the way back if the TPM unseals, and asks first if it does not")
  void recoveryInTrial() throws Exception {
    SealedConfiguration configuration = configuration();
    X25519PrivateKeyParameters owner = new X25519PrivateKeyParameters(new SecureRandom());
    Secret key = Secret.of(owner.getEncoded());
    Path present = bootFile('a', "1");
    Path next = bootFile('b', "2");
    SealerTpm before = boot(present);
    new RecoveryShareFile(Root.at(directory.resolve("state")).esp().recoveryShare())
        .seal(
            Secret.of("0123456789abcdef0123456789ABCDEF"), owner.generatePublicKey().getEncoded());
    before.alsoFor(present, next);
    configurationBy(before).write(configuration);

    assertEquals(configuration, configurationBy(boot(next), TRIAL).recover(key));
    assertEquals(configuration, configurationBy(boot(present)).read().orThrow());

    SealerTpm third = boot(bootFile('b', "3"));
    assertThrows(FileException.class, () -> configurationBy(third, TRIAL).recover(key));
    assertEquals(configuration, configurationBy(boot(present)).read().orThrow());
    assertEquals(configuration, configurationBy(boot(bootFile('b', "3"))).recover(key));
  }

  @Test
  @DisplayName(
      "a boot that the log does not explain, and a boot file that was not booted, are no ground for a prediction")
  void noPrediction() throws Exception {
    Path present = bootFile('a', "1");
    Path next = bootFile('b', "2");
    SealerTpm running = boot(present);
    assertTrue(
        assertThrows(StorageException.class, () -> running.alsoFor(next, present))
            .getMessage()
            .contains("is not the one that this machine has booted"));
    tpm.extend(11);
    assertTrue(
        assertThrows(StorageException.class, () -> running.alsoFor(present, next))
            .getMessage()
            .contains("does not lead to its present PCRs"));
  }

  @Test
  @DisplayName("losses of power in a row lock nothing")
  void lossesOfPower() throws Exception {
    byte[] sealed = sealer.seal(CONTENT);
    // The TPM locks what is not exempt after three.
    for (int losses = 0; losses < 5; losses++) {
      tpm.close();
      tpm = new Tpm(directory.resolve("tpm"));
      assertArrayEquals(CONTENT, new SealerTpm(tpm.tcti, tpm).unseal(sealed));
    }
  }

  @Test
  @DisplayName("a flipped bit of the content is found")
  void changedContent() throws Exception {
    Envelope whole = Envelope.decode(SealerTpm.NAME, sealer.seal(CONTENT));
    whole.payload()[40] ^= 1;
    FileException damaged = assertThrows(FileException.class, () -> sealer.unseal(whole.encode()));
    assertEquals(Problem.CORRUPTED, damaged.problem());
  }

  @Test
  @DisplayName("no TPM where one is configured: refused with the way to it")
  void noTpm() {
    SealerTpm missing = new SealerTpm("device:/dev/no-tpm", new Commands());
    StorageException refused = assertThrows(StorageException.class, () -> missing.seal(CONTENT));
    assertTrue(refused.getMessage().contains("device:/dev/no-tpm"), refused.getMessage());
  }

  @Test
  @DisplayName(
      "the machine share comes back from this machine alone; without a sealer there is none")
  void machineShare() throws Exception {
    var place = Root.at(directory.resolve("state")).esp().machineShare();
    Files.createDirectories(place.path().getParent());
    MachineShareFile share = new MachineShareFile(place, sealer);
    assertFalse(share.exists());
    share.write(Secret.of(CONTENT));
    assertEquals(Secret.of(CONTENT), share.read().orThrow());
    MachineShareFile without = new MachineShareFile(place, new SealerNone());
    assertFalse(without.possible());
    Stored<Secret> read = without.read();
    Stored.Unreadable<?> unreadable = assertInstanceOf(Stored.Unreadable.class, read);
    assertTrue(unreadable.reason().contains("sealed by \"tpm2\""), unreadable.reason());
    assertEquals(Sealer.NONE, new SealerNone().name());
  }
}
