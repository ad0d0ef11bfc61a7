package dev.polis.plugins.manifest;

import static dev.polis.plugins.manifest.PluginFixture.PLATFORM;
import static dev.polis.plugins.manifest.PluginFixture.ROOTS;
import static dev.polis.plugins.manifest.PluginFixture.STRANGER;
import static dev.polis.plugins.manifest.PluginFixture.TRUSTED;
import static dev.polis.plugins.manifest.PluginFixture.signed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.polis.wire.manifest.Manifest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PluginVerifierTest {
  private static final String NAME = "org.example.backup";
  private static final UnknownFieldSet NEWER =
      UnknownFieldSet.newBuilder()
          .addField(99, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
          .build();

  @TempDir Path folder;
  private Path bundle;
  private PluginManifest manifest;
  private final PluginVerifier verifier = new PluginVerifier(PLATFORM, Set.of());

  @BeforeEach
  void build() throws IOException {
    bundle = PluginFixture.bundle(folder, NAME, "1.0.0");
    manifest = PluginFixture.manifest(bundle, NAME, "1.0.0");
  }

  @Test
  @DisplayName("a signed plugin of the right bundle is accepted, and its content is read back")
  void accepted() throws Exception {
    Path file = Files.write(ManifestEnvelope.beside(bundle), signed(manifest));

    VerifiedPlugin plugin = verifier.verify(bundle, file, ROOTS);

    assertEquals(manifest, plugin.manifest());
    assertEquals(new Signer.ClusterKey(ROOTS.keys().getFirst()), plugin.signer());
    assertEquals("org.example.backup-1.0.0.jar.plugin", file.getFileName().toString());
  }

  @Test
  @DisplayName("only an unsigned manifest that the distribution lists is accepted")
  void distribution() throws Exception {
    DistributionManifest given = DistributionManifest.of(manifest);
    byte[] file = given.encode().toByteArray();
    PluginVerifier listed = new PluginVerifier(PLATFORM, Set.of(given.digest()));

    assertEquals(new Signer.Distribution(), listed.verify(bundle, file, TrustRoots.NONE).signer());
    assertTrue(
        refused(RefusalReason.UNSIGNED, file).contains("the list of this distribution does not"));
  }

  @Test
  @DisplayName("a bundle without a manifest is refused with the command that makes one")
  void missingManifest() {
    PluginRefusedException refusal =
        assertThrows(
            PluginRefusedException.class,
            () -> verifier.verify(bundle, ManifestEnvelope.beside(bundle), ROOTS));

    assertEquals(RefusalReason.UNSIGNED, refusal.reason());
    assertTrue(refusal.getMessage().contains("polisctl plugin pack"), refusal.getMessage());
  }

  @Test
  @DisplayName("a manifest without a signer is refused")
  void emptyManifest() {
    refused(RefusalReason.UNSIGNED, new byte[0]);
  }

  @Test
  @DisplayName("bytes that are no manifest are refused, outside and inside the envelope")
  void unreadableManifest() {
    refused(RefusalReason.UNREADABLE_MANIFEST, new byte[] {-1, -1, -1});
    refused(RefusalReason.UNREADABLE_MANIFEST, signed(new byte[] {-1, -1, -1}));
  }

  @Test
  @DisplayName("a key that the cluster does not trust is refused with the trusted ones")
  void unknownKey() {
    byte[] file = SignedManifest.sign(manifest, STRANGER.getPrivate()).encode().toByteArray();

    String message = refused(RefusalReason.UNKNOWN_KEY, file);

    assertTrue(message.contains(KeyId.of(STRANGER.getPublic()).hex()), message);
    assertTrue(message.contains("it trusts release ("), message);
    assertTrue(message.contains("\"polisctl plugin trust add NAME FILE.pub\""), message);
  }

  @Test
  @DisplayName("a signature of another key under a trusted key's id is refused")
  void badSignature() {
    SignedManifest stolen =
        new SignedManifest(
            manifest.encode(),
            KeyId.of(TRUSTED.getPublic()),
            SignedManifest.sign(manifest, STRANGER.getPrivate()).signature());

    refused(RefusalReason.BAD_SIGNATURE, stolen.encode().toByteArray());
  }

  @Test
  @Tag("attack")
  @DisplayName("a manifest changed after it was signed is refused")
  void changedManifest() throws Exception {
    SignedManifest signed = SignedManifest.sign(manifest, TRUSTED.getPrivate());
    PluginManifest other = PluginFixture.manifest(bundle, NAME, "1.0.1");
    SignedManifest changed = new SignedManifest(other.encode(), signed.keyId(), signed.signature());

    refused(RefusalReason.BAD_SIGNATURE, changed.encode().toByteArray());
  }

  @Test
  @DisplayName("a signature of the bare manifest, made for another purpose, is refused")
  void otherPurpose() {
    SignedManifest bare =
        new SignedManifest(
            manifest.encode(),
            KeyId.of(TRUSTED.getPublic()),
            ByteString.copyFrom(
                dev.polis.pki.Ed25519.sign(TRUSTED.getPrivate(), manifest.encode().toByteArray())));

    refused(RefusalReason.BAD_SIGNATURE, bare.encode().toByteArray());
  }

  @Test
  @DisplayName("unknown fields are refused by number, in envelope and manifest")
  void unknownFields() throws Exception {
    byte[] inside =
        Manifest.parseFrom(manifest.encode()).toBuilder()
            .setUnknownFields(NEWER)
            .build()
            .toByteArray();
    byte[] outside =
        dev.polis.wire.manifest.ManifestEnvelope.parseFrom(signed(manifest)).toBuilder()
            .setUnknownFields(NEWER)
            .build()
            .toByteArray();

    String message = refused(RefusalReason.UNKNOWN_FIELDS, signed(inside));
    assertTrue(message.contains("field number 99 of Manifest"), message);
    refused(RefusalReason.UNKNOWN_FIELDS, outside);
  }

  @Test
  @DisplayName("a plugin that needs a newer platform is refused with both versions")
  void platformTooOld() throws Exception {
    PluginManifest newer = PluginFixture.manifest(bundle, NAME, "1.0.0", "1.4.1");

    String message = refused(RefusalReason.PLATFORM_TOO_OLD, signed(newer));

    assertTrue(message.contains("1.4.1 or newer, and this process runs 1.4.0"), message);
    assertTrue(message.contains("polisctl node restart --runtime"), message);
  }

  @Test
  @DisplayName(
      "a bundle that declares its required platform is left to the resolver; a manifest without the declaration is refused")
  void platformSaidByTheBundle() throws Exception {
    Path said =
        PluginFixture.bundle(
            folder,
            NAME,
            "1.0.1",
            Map.of("Require-Capability", "polis.platform;filter:=\"(version>=1.4.1)\""));
    byte[] newer = signed(PluginFixture.manifest(said, NAME, "1.0.1", "1.4.1"));

    assertEquals(NAME + ":1.0.1", verifier.verify(said, newer, ROOTS).manifest().label());
    assertEquals(
        RefusalReason.PLATFORM_TOO_OLD,
        assertThrows(PluginRefusedException.class, () -> verifier.verifyManifest(newer, ROOTS))
            .reason());
  }

  @Test
  @DisplayName(
      "a plugin packed by an earlier release, with its organ and roles only in the manifest, is accepted")
  void packedByAnEarlierRelease() throws Exception {
    Path former =
        PluginFixture.bundle(
            folder,
            NAME,
            "0.9.0",
            Map.of("Polis-Organ", "backup", "Polis-Minimum-Platform", "1.0.0"));
    byte[] packed = signed(PluginFixture.manifest(former, NAME, "0.9.0"));

    assertEquals(
        List.of(new Provided.Organ("backup"), new Provided.Role("NightlyBackup")),
        verifier.verify(former, packed, ROOTS).manifest().provides());
  }

  @Test
  @DisplayName("a manifest that differs from the capabilities of its bundle is refused with both")
  void otherCapabilities() throws Exception {
    for (Map<String, String> each :
        List.of(
            Map.of("Provide-Capability", "polis.organ;polis.organ=metrics"),
            Map.of("Require-Capability", "polis.platform;filter:=\"(version>=0.9)\""))) {
      Path other = PluginFixture.bundle(folder, NAME, "1.0.2", each);
      byte[] packed = signed(PluginFixture.manifest(other, NAME, "1.0.2"));
      PluginRefusedException refusal =
          assertThrows(PluginRefusedException.class, () -> verifier.verify(other, packed, ROOTS));
      assertEquals(RefusalReason.OTHER_BUNDLE, refusal.reason());
      assertTrue(
          refusal.getMessage().contains("its manifest says [organ backup"), refusal.getMessage());
    }
  }

  @Test
  @DisplayName("a bundle that is cut off is refused by its size")
  void wrongSize() throws Exception {
    byte[] whole = Files.readAllBytes(bundle);
    Files.write(bundle, Arrays.copyOf(whole, whole.length - 1));

    refused(RefusalReason.WRONG_SIZE, signed(manifest));
  }

  @Test
  @Tag("attack")
  @DisplayName("a bundle with one bit changed is refused by its digest")
  void wrongDigest() throws Exception {
    byte[] whole = Files.readAllBytes(bundle);
    whole[whole.length / 2] ^= 1;
    Files.write(bundle, whole);

    refused(RefusalReason.WRONG_DIGEST, signed(manifest));
  }

  @Test
  @DisplayName("the manifest of another bundle is refused, by its name or its version")
  void otherBundle() throws Exception {
    String name =
        refused(
            RefusalReason.OTHER_BUNDLE,
            signed(PluginFixture.manifest(bundle, "org.example.restore", "1.0.0")));
    assertTrue(name.contains("is org.example.backup:1.0.0"), name);
    refused(RefusalReason.OTHER_BUNDLE, signed(PluginFixture.manifest(bundle, NAME, "1.0.1")));
  }

  @Test
  @DisplayName("a signed file that is no bundle is refused, and so is a missing one")
  void unreadableBundle() throws Exception {
    Path noJar = Files.writeString(folder.resolve("text.jar"), "not a jar");
    byte[] file = signed(PluginFixture.manifest(noJar, NAME, "1.0.0"));

    assertEquals(
        RefusalReason.UNREADABLE_BUNDLE,
        assertThrows(PluginRefusedException.class, () -> verifier.verify(noJar, file, ROOTS))
            .reason());
    Files.delete(bundle);
    refused(RefusalReason.UNREADABLE_BUNDLE, signed(manifest));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "../etc", "a b", ".a", "a..b", "a\u0000b", "ä"})
  @DisplayName("a malformed symbolic name is refused")
  void malformedName(String name) {
    refused(RefusalReason.MALFORMED, changed(m -> m.setSymbolicName(name)));
  }

  @Test
  @DisplayName("malformed versions, ranges, digests, sizes, organs and roles are refused")
  void malformedParts() {
    List<Consumer<Manifest.Builder>> changes =
        List.of(
            m -> m.setVersion(""),
            m -> m.setVersion("one"),
            m -> m.setVersion("1.0." + "9".repeat(200)),
            m -> m.setMinimumPlatform("x"),
            m -> m.setSha256(ByteString.copyFrom(new byte[31])),
            m -> m.setSize(0),
            m -> m.setSize(-1),
            m -> m.addProvidesBuilder().setOrgan("Backup"),
            m -> m.addProvidesBuilder().setRole("nightly"),
            m -> m.addProvidesBuilder().setOrgan("backup"),
            m -> m.addProvidesBuilder(),
            m -> m.addPackagesBuilder().setName("a-b").setRange("[1,2)"),
            m -> m.addPackagesBuilder().setName("a.b").setRange("[2,1)"),
            m -> m.addPackagesBuilder().setName("a.b").setRange(""),
            m -> m.addPackagesBuilder().setName("dev.polis.api").setRange("0"));
    for (Consumer<Manifest.Builder> change : changes) {
      refused(RefusalReason.MALFORMED, changed(change));
    }
  }

  @Test
  @DisplayName("a very long name is cut in the message")
  void longName() {
    String message =
        refused(RefusalReason.MALFORMED, changed(m -> m.setSymbolicName("a".repeat(100_000))));

    assertTrue(message.length() < 500, () -> "the message has " + message.length());
  }

  @Test
  @DisplayName("an oversized manifest is refused unread, an oversized bundle by its declared size")
  void oversize() throws Exception {
    Path file =
        Files.write(ManifestEnvelope.beside(bundle), new byte[ManifestEnvelope.LARGEST + 1]);

    assertEquals(
        RefusalReason.OVERSIZE,
        assertThrows(PluginRefusedException.class, () -> verifier.verify(bundle, file, ROOTS))
            .reason());
    refused(RefusalReason.OVERSIZE, changed(m -> m.setSize(PluginManifest.LARGEST_BUNDLE + 1)));
  }

  @Test
  @DisplayName("a signed manifest with any changed bytes is refused or has the same content")
  void fuzzedEnvelope() throws Exception {
    byte[] whole = signed(manifest);
    Random random = new Random(42);
    for (int i = 0; i < 20_000; i++) {
      byte[] fuzzed = fuzz(whole, random);
      try {
        assertEquals(manifest, verifier.verifyManifest(fuzzed, ROOTS).manifest());
      } catch (PluginRefusedException e) {
        assertTrue(!e.getMessage().isBlank());
      }
    }
  }

  @Test
  @DisplayName("any bytes that a trusted key signed are a manifest or refused")
  void fuzzedManifest() throws Exception {
    byte[] whole = manifest.encode().toByteArray();
    Random random = new Random(43);
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      try {
        PluginManifest read = PluginManifest.decode(ByteString.copyFrom(fuzz(whole, random)));
        assertEquals(read, PluginManifest.decode(read.encode()));
      } catch (PluginRefusedException e) {
        refused++;
      }
    }
    assertTrue(refused > 10_000, "only " + refused + " were refused");
  }

  @Test
  @DisplayName("a bundle with any changed bytes is refused")
  void fuzzedBundle() throws Exception {
    byte[] whole = Files.readAllBytes(bundle);
    byte[] file = signed(manifest);
    Random random = new Random(44);
    for (int i = 0; i < 500; i++) {
      byte[] fuzzed = fuzz(whole, random);
      if (!Arrays.equals(whole, fuzzed)) {
        Files.write(bundle, fuzzed);
        assertThrows(PluginRefusedException.class, () -> verifier.verify(bundle, file, ROOTS));
        byte[] own = signed(PluginFixture.manifest(bundle, NAME, "1.0.0"));
        try {
          verifier.verify(bundle, own, ROOTS);
        } catch (PluginRefusedException e) {
          assertTrue(
              Set.of(RefusalReason.UNREADABLE_BUNDLE, RefusalReason.OTHER_BUNDLE)
                  .contains(e.reason()),
              e.getMessage());
        }
      }
    }
  }

  @Test
  @DisplayName("the version of the platform is that of the root project")
  void platformVersion() {
    assertEquals("0.2.0.SNAPSHOT", PlatformVersion.parse("0.2.0-SNAPSHOT").toString());
    assertTrue(PlatformVersion.current().compareTo(PlatformVersion.parse("0.1")) >= 0);
  }

  @Test
  @DisplayName("two trusted keys with one name, or one key under two names, are refused")
  void doubleKeys() {
    TrustedKey key = new TrustedKey("a", TRUSTED.getPublic());

    for (TrustedKey twin :
        List.of(
            new TrustedKey("a", STRANGER.getPublic()), new TrustedKey("b", TRUSTED.getPublic()))) {
      assertThrows(IllegalArgumentException.class, () -> new TrustRoots(List.of(key, twin)));
    }
  }

  private byte[] changed(Consumer<Manifest.Builder> change) {
    try {
      Manifest.Builder message = Manifest.parseFrom(manifest.encode()).toBuilder();
      change.accept(message);
      return signed(message.build().toByteArray());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private String refused(RefusalReason reason, byte[] file) {
    PluginRefusedException refusal =
        assertThrows(PluginRefusedException.class, () -> verifier.verify(bundle, file, ROOTS));
    assertEquals(reason, refusal.reason(), refusal.getMessage());
    return refusal.getMessage();
  }

  /** Changes, cuts, or doubles a few bytes. */
  private static byte[] fuzz(byte[] whole, Random random) {
    List<Byte> bytes = new ArrayList<>();
    for (byte each : whole) {
      bytes.add(each);
    }
    for (int n = 1 + random.nextInt(3); n > 0 && !bytes.isEmpty(); n--) {
      int at = random.nextInt(bytes.size());
      switch (random.nextInt(4)) {
        case 0 -> bytes.set(at, (byte) random.nextInt());
        case 1 -> bytes.remove(at);
        case 2 -> bytes.add(at, (byte) random.nextInt());
        default -> bytes.subList(Math.max(1, at), bytes.size()).clear();
      }
    }
    byte[] fuzzed = new byte[bytes.size()];
    for (int i = 0; i < fuzzed.length; i++) {
      fuzzed[i] = bytes.get(i);
    }
    return fuzzed;
  }
}
