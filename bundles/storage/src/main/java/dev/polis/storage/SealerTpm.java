package dev.polis.storage;

import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.process.Commands;
import dev.polis.storage.slots.BootFile;
import dev.polis.storage.slots.MeasuredBoot;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Seals bytes to the TPM of this machine and to the software that it has booted.
 *
 * <pre>
 *   bytes ──AES-256-GCM──▶ payload          key ──TPM2_Create, policy of PCRs──▶ public, private
 * </pre>
 *
 * <p>A TPM object holds 128 bytes, so the TPM seals a key. The programs of tpm2-tools speak to the
 * TPM; each call makes the primary key of the owner hierarchy again, which is the same until the
 * TPM is cleared. The values of the PCRs are beside the object, so that a refusal names the changed
 * one.
 *
 * <p>After an update the key has two objects: for the present boot, and for the one with the boot
 * file in the other slot, whose PCRs follow from the log of measurements. The payload authenticates
 * the PCRs of both, so nothing on the disk can name a third boot for which this seals again.
 */
final class SealerTpm implements Sealer {

  static final String NAME = "tpm2";

  /** What the policy binds: the TPM extends a PCR with each measurement of a boot. */
  private enum Pcr {
    // The firmware measures a program before it starts it, so no program can hide itself.
    PROGRAMS(4, "the programs that the firmware started"),
    SECURE_BOOT(7, "Secure Boot and its keys"),
    BOOT_FILE(11, "the boot file, which is kernel, initramfs and command line"),
    // The stub takes these in place of those in the boot file, unless Secure Boot forbids it.
    OPTIONS(12, "options that a boot loader gave to the boot file");

    private final int number;
    private final String measures;

    Pcr(int number, String measures) {
      this.number = number;
      this.measures = measures;
    }
  }

  private static final String SELECTION =
      "sha256:" + String.join(",", Stream.of(Pcr.values()).map(pcr -> "" + pcr.number).toList());
  private static final int PCR_BYTES = 32;
  private static final int KEY_BYTES = 32;
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;
  private static final String PCRS = "pcrs";
  private static final String PUBLIC = "public";
  private static final String PRIVATE = "private";
  // Suffixes of the fields of each object.
  private static final List<String> OBJECTS = List.of("", "-other");
  private static final Path LOG = Path.of("/sys/kernel/security/tpm0/binary_bios_measurements");

  private final TpmTools tools;
  private final Path log;
  private final SecureRandom random = new SecureRandom();

  /**
   * The PCRs of the boot from the other slot; empty if it has none that may unseal, and unset until
   * this sealer has unsealed something that names it.
   */
  private final AtomicReference<List<byte[]>> others = new AtomicReference<>();

  /**
   * @param tcti the way to the TPM, in the notation of tpm2-tools, such as {@code
   *     device:/dev/tpmrm0}
   */
  SealerTpm(String tcti, Commands commands) {
    this(tcti, commands, LOG);
  }

  /**
   * @param log the measurements of this boot
   */
  SealerTpm(String tcti, Commands commands, Path log) {
    this.tools = new TpmTools(tcti, commands);
    this.log = log;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public byte[] seal(byte[] plain) throws FileException {
    byte[] key = random(KEY_BYTES);
    try (TpmTools.Scratch scratch = new TpmTools.Scratch()) {
      makePrimary(scratch);
      byte[] now = pcrs(scratch);
      List<byte[]> boots = new ArrayList<>(List.of(now));
      Optional.ofNullable(others.get()).stream()
          .flatMap(List::stream)
          .filter(pcrs -> !Arrays.equals(pcrs, now))
          .forEach(boots::add);
      Map<String, String> fields = new LinkedHashMap<>();
      for (int i = 0; i < boots.size(); i++) {
        create(scratch, boots.get(i), key);
        fields.put(PCRS + OBJECTS.get(i), hex(boots.get(i)));
        fields.put(PUBLIC + OBJECTS.get(i), hex(scratch.read(PUBLIC)));
        fields.put(PRIVATE + OBJECTS.get(i), hex(scratch.read(PRIVATE)));
      }
      return new Envelope(NAME, fields, encrypt(key, plain, bound(boots))).encode();
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }

  /** Makes an object with the key, which the TPM gives to a boot with these PCRs. */
  private void create(TpmTools.Scratch scratch, byte[] pcrs, byte[] key) throws FileException {
    String policy = scratch.file("policy");
    scratch.write(PCRS, pcrs);
    tools.must(
        "tpm2_createpolicy",
        "--policy-pcr",
        "--pcr-list",
        SELECTION,
        "--pcr",
        scratch.file(PCRS),
        "--policy",
        policy);
    tools.must(
        tools.tool(
            "tpm2_create",
            "--parent-context",
            scratch.file("primary"),
            "--policy",
            policy,
            // Only the policy opens the object, and a refusal locks nothing.
            "--attributes",
            "fixedtpm|fixedparent|noda",
            "--sealing-input",
            "-",
            "--public",
            scratch.file(PUBLIC),
            "--private",
            scratch.file(PRIVATE)),
        key);
  }

  @Override
  public byte[] unseal(byte[] sealed) throws FileException {
    Envelope envelope;
    try {
      envelope = Envelope.decode(NAME, sealed, PCRS, PUBLIC, PRIVATE);
    } catch (IllegalArgumentException e) {
      throw new FileException(
          Problem.CORRUPTED, "the sealed content: " + e.getMessage(), "restore it from a copy", e);
    }
    List<byte[]> boots =
        OBJECTS.stream()
            .filter(object -> envelope.fields().containsKey(PCRS + object))
            .map(object -> HexFormat.of().parseHex(envelope.field(PCRS + object)))
            .toList();
    try (TpmTools.Scratch scratch = new TpmTools.Scratch()) {
      int own = boots.size() > 1 && Arrays.equals(boots.get(1), pcrs(scratch)) ? 1 : 0;
      String object = OBJECTS.get(own);
      scratch.write(PUBLIC, HexFormat.of().parseHex(envelope.field(PUBLIC + object)));
      scratch.write(PRIVATE, HexFormat.of().parseHex(envelope.field(PRIVATE + object)));
      makePrimary(scratch);
      load(scratch);
      byte[] plain = decrypt(key(scratch, boots.get(own)), envelope.payload(), bound(boots));
      // An update that is on its way knows better than what was sealed before it.
      others.compareAndSet(null, boots.size() > 1 ? List.of(boots.get(1 - own)) : List.of());
      return plain;
    }
  }

  /** Returns what the payload authenticates beside itself: more than one boot. */
  private static byte[] bound(List<byte[]> boots) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    if (boots.size() > 1) {
      boots.forEach(all::writeBytes);
    }
    return all.toByteArray();
  }

  @Override
  public void alsoFor(Path booted, Path next) throws FileException {
    List<Integer> numbers = Stream.of(Pcr.values()).map(pcr -> pcr.number).toList();
    try (TpmTools.Scratch scratch = new TpmTools.Scratch();
        BootFile present = BootFile.read(booted);
        BootFile update = BootFile.read(next)) {
      MeasuredBoot boot = MeasuredBoot.read(log);
      if (!Arrays.equals(boot.pcrs(numbers), pcrs(scratch))) {
        throw new IOException("its log of measurements does not lead to its present PCRs");
      }
      others.set(List.of(boot.pcrs(numbers, present, update)));
    } catch (FileException e) {
      throw e;
    } catch (IOException e) {
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "the TPM of this machine would not unseal after a boot of %s: %s"
              .formatted(next, e.getMessage()),
          "reboot, and try again; an installation with the recovery key needs no prediction",
          e);
    }
  }

  private void makePrimary(TpmTools.Scratch scratch) throws FileException {
    tools.must(
        "tpm2_createprimary",
        "--hierarchy",
        "o",
        "--key-algorithm",
        "ecc",
        // Without "noda" some losses of power in a row would lock the TPM, since each may hide a
        // guess of a password.
        "--attributes",
        "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|decrypt|noda",
        "--key-context",
        scratch.file("primary"));
  }

  private void load(TpmTools.Scratch scratch) throws FileException {
    Commands.Result loaded =
        tools.run(
            tools.tool(
                "tpm2_load",
                "--parent-context",
                scratch.file("primary"),
                "--public",
                scratch.file(PUBLIC),
                "--private",
                scratch.file(PRIVATE),
                "--key-context",
                scratch.file("object")),
            new byte[0]);
    if (!loaded.ok()) {
      throw new StorageException(
          Refusal.FOREIGN,
          "the TPM of this machine did not seal this: the disk comes from another machine, or the TPM was cleared ("
              + loaded.words()
              + ")",
          "put the disk back into its machine; nothing was changed");
    }
  }

  private byte[] key(TpmTools.Scratch scratch, byte[] then) throws FileException {
    Commands.Result opened =
        tools.run(
            tools.tool(
                "tpm2_unseal",
                "--object-context",
                scratch.file("object"),
                "--auth",
                "pcr:" + SELECTION,
                "--output",
                scratch.file("key")),
            new byte[0]);
    if (opened.ok()) {
      return scratch.read("key");
    }
    byte[] now = pcrs(scratch);
    List<String> changed = new ArrayList<>();
    for (Pcr pcr : Pcr.values()) {
      int from = pcr.ordinal() * PCR_BYTES;
      if (!Arrays.equals(then, from, from + PCR_BYTES, now, from, from + PCR_BYTES)) {
        changed.add("PCR %d (%s)".formatted(pcr.number, pcr.measures));
      }
    }
    throw new StorageException(
        Refusal.WRONG_KEY,
        changed.isEmpty()
            ? "the TPM does not unseal: " + opened.words()
            : "the TPM does not unseal, because this machine has booted other software than the one that sealed: "
                + String.join(" and ", changed)
                + " changed",
        "boot what this machine had booted before, and its firmware settings of then; nothing was changed");
  }

  /** Reads the PCRs of the policy, in their order. */
  private byte[] pcrs(TpmTools.Scratch scratch) throws FileException {
    tools.must("tpm2_pcrread", SELECTION, "--output", scratch.file(PCRS));
    byte[] values = scratch.read(PCRS);
    if (values.length != Pcr.values().length * PCR_BYTES) {
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "the TPM gave %d bytes of PCRs, wanted %d: it has no bank of SHA-256"
              .formatted(values.length, Pcr.values().length * PCR_BYTES),
          "activate the SHA-256 bank in the firmware's settings");
    }
    return values;
  }

  private byte[] encrypt(byte[] key, byte[] plain, byte[] bound) {
    byte[] nonce = random(NONCE_BYTES);
    try {
      byte[] secret = cipher(Cipher.ENCRYPT_MODE, key, nonce, bound).doFinal(plain);
      byte[] all = Arrays.copyOf(nonce, NONCE_BYTES + secret.length);
      System.arraycopy(secret, 0, all, NONCE_BYTES, secret.length);
      return all;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JVM lacks AES-GCM", e);
    }
  }

  private static byte[] decrypt(byte[] key, byte[] payload, byte[] bound) throws FileException {
    try {
      return cipher(Cipher.DECRYPT_MODE, key, Arrays.copyOf(payload, NONCE_BYTES), bound)
          .doFinal(payload, NONCE_BYTES, payload.length - NONCE_BYTES);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new FileException(
          Problem.CORRUPTED,
          "the sealed content was changed: its key is right, its authentication tag is not",
          "restore it from a copy",
          e);
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }

  private static Cipher cipher(int mode, byte[] key, byte[] nonce, byte[] bound)
      throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, new SecretKeySpec(key, "AES"), new GCMParameterSpec(TAG_BITS, nonce));
    cipher.updateAAD(bound);
    return cipher;
  }

  private byte[] random(int bytes) {
    byte[] made = new byte[bytes];
    random.nextBytes(made);
    return made;
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
