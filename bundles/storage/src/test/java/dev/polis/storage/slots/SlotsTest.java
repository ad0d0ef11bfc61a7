package dev.polis.storage.slots;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.fixtures.BootFiles;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.process.Commands;
import dev.polis.rpc.RpcException;
import dev.polis.wire.system.GetSystemResponse;
import dev.polis.wire.system.InstallChoice;
import dev.polis.wire.system.InstallResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Installs systems where files stand for the partitions of the disk. */
class SlotsTest {

  private static final int SLOT_BYTES = 3 << 20;
  private static final byte[] SYSTEM = system(2 << 20);

  @TempDir Path folder;
  private final List<String> sealed = new ArrayList<>();
  private Slots slots;

  private static byte[] system(int bytes) {
    byte[] content = new byte[bytes];
    Arrays.fill(content, (byte) 7);
    return content;
  }

  /** Notes for which boot files it is to seal. */
  private final class Noting implements Sealer {
    @Override
    public String name() {
      return "noting";
    }

    @Override
    public byte[] seal(byte[] plain) {
      return plain;
    }

    @Override
    public byte[] unseal(byte[] bytes) {
      return bytes;
    }

    @Override
    public void alsoFor(Path booted, Path next) {
      try (BootFile file = BootFile.read(next)) {
        sealed.add(
            "%s then %s"
                .formatted(booted.getFileName(), file.parameter("polis.version").orElseThrow()));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @BeforeEach
  void machine() throws Exception {
    Files.createDirectories(bootFiles());
    Files.writeString(folder.resolve("running"), "a 0.2.0\n");
    Files.write(bootFiles().resolve("polis-00000001-a.efi"), BootFiles.of('a', "0.2.0"));
    Files.write(folder.resolve("other"), new byte[SLOT_BYTES]);
    slots =
        new Slots(
            folder,
            new Commands(),
            new Noting(),
            () -> sealed.add("sealed again"),
            LogTree.create().log("slots"));
  }

  private Path bootFiles() {
    return folder.resolve("esp/EFI/Linux");
  }

  private static InstallChoice choice(byte[] update) {
    return InstallChoice.newBuilder().setBytes(update.length).setTries(3).build();
  }

  private InstallResponse install(byte[] update) throws Exception {
    return slots.install(new ByteArrayInputStream(update), choice(update));
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(bootFiles())) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  /** Returns all files with their digests. */
  private Map<String, String> content() throws IOException {
    Map<String, String> content = new TreeMap<>();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        content.put(folder.relativize(file).toString(), BootFiles.digest(Files.readAllBytes(file)));
      }
    }
    return content;
  }

  @Test
  @DisplayName(
      "D-42 an update fills the other slot, seals for its boot, and gives the loader its file last, with its tries")
  void d42_installs() throws Exception {
    InstallResponse done = install(BootFiles.update("0.3.0", SYSTEM));
    assertEquals("b 0.3.0", done.getSlot() + " " + done.getVersion());
    assertEquals(List.of("polis-00000001-a.efi", "polis-00000002-b+3.efi"), names());
    assertArrayEquals(
        BootFiles.of('b', "0.3.0"),
        Files.readAllBytes(bootFiles().resolve("polis-00000002-b+3.efi")));
    byte[] partition = Files.readAllBytes(folder.resolve("other"));
    assertEquals(SLOT_BYTES, partition.length);
    assertArrayEquals(SYSTEM, Arrays.copyOf(partition, SYSTEM.length));
    assertFalse(Files.exists(folder.resolve("esp/polis/next")));
    assertEquals(List.of("polis-00000001-a.efi then 0.3.0", "sealed again"), sealed);

    GetSystemResponse now = slots.describe();
    assertEquals("a 0.2.0", now.getSlot() + " " + now.getVersion());
    assertTrue(now.getOtherBoots() && !now.getTrial() && !now.getOtherFailed(), now::toString);
    assertEquals("0.3.0", now.getOtherVersion());

    install(BootFiles.update("0.4.0", SYSTEM));
    assertEquals(List.of("polis-00000001-a.efi", "polis-00000002-b+3.efi"), names());
    assertEquals("0.4.0", slots.describe().getOtherVersion());
  }

  @Test
  @DisplayName(
      "an update that is truncated, foreign, for another architecture, too large or older changes nothing")
  void refused() throws Exception {
    byte[] whole = BootFiles.update("0.3.0", SYSTEM);
    String text = new String(whole, StandardCharsets.ISO_8859_1);
    Map<String, String> before = content();
    refused("was truncated", Arrays.copyOf(whole, whole.length - 1));
    refused("no update file", "a photo".getBytes());
    refused(
        "is for \"arm64\"", text.replace("amd64", "arm64").getBytes(StandardCharsets.ISO_8859_1));
    refused("a slot of this disk", BootFiles.update("0.3.0", system(SLOT_BYTES + 1)));
    refused("--downgrade", BootFiles.update("0.1.9", SYSTEM));
    refused(
        "is for slot a",
        BootFiles.update("0.3.0", BootFiles.of('a', "0.3.0"), BootFiles.of('a', "0.3.0"), SYSTEM));
    byte[] damaged = whole.clone();
    damaged[damaged.length - SYSTEM.length - 1] ^= 1;
    refused("boot-b", damaged);
    assertEquals(before, content());
    assertEquals(List.of(), sealed);

    byte[] older = BootFiles.update("0.1.9", SYSTEM);
    slots.install(
        new ByteArrayInputStream(older), choice(older).toBuilder().setAllowDowngrade(true).build());
    assertEquals("0.1.9", slots.describe().getOtherVersion());
  }

  private static byte[] signedUpdate(X509Certificate by) throws Exception {
    return BootFiles.update(
        "0.3.0",
        BootFiles.signed(BootFiles.of('a', "0.3.0"), by),
        BootFiles.signed(BootFiles.of('b', "0.3.0"), by),
        SYSTEM);
  }

  @Test
  @DisplayName(
      "an update that the keys of this machine have not signed, and a signed one for a machine without keys, change nothing")
  void otherSigner() throws Exception {
    X509Certificate own = CertificateAuthority.create("db").certificate();
    X509Certificate other = CertificateAuthority.create("db").certificate();
    Map<String, String> before = content();
    refused("without --secure-boot-keys", signedUpdate(own));
    assertEquals(before, content());

    Files.write(
        bootFiles().resolve("polis-00000001-a.efi"),
        BootFiles.signed(BootFiles.of('a', "0.2.0"), own));
    before = content();
    refused("that of the update is not signed", BootFiles.update("0.3.0", SYSTEM));
    refused("signed by another key", signedUpdate(other));
    assertEquals(before, content());
    assertEquals(List.of(), sealed);
    install(signedUpdate(own));
    assertEquals("0.3.0", slots.describe().getOtherVersion());
  }

  @Test
  @DisplayName("a boot file with wrong sizes in its headers is refused, whatever they claim")
  void wrongSizes() throws Exception {
    Path file = folder.resolve("wrong");
    // The fields of the first section, its place, and the size of the headers.
    for (int field : List.of(336, 344, 348, 148)) {
      for (int claimed : List.of(Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 30, -1)) {
        byte[] wrong = BootFiles.of('a', "1");
        ByteBuffer.wrap(wrong).order(ByteOrder.LITTLE_ENDIAN).putInt(field, claimed);
        Files.write(file, wrong);
        try (BootFile read = BootFile.read(file)) {
          IOException refused = assertThrows(IOException.class, read::measured);
          assertTrue(refused.getMessage().contains("is not a boot file"), refused.getMessage());
        }
      }
    }
    byte[] unsigned = BootFiles.of('a', "1");
    ByteBuffer.wrap(unsigned)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(232, 1024)
        .putInt(236, Integer.MAX_VALUE - 1024);
    Files.write(file, unsigned);
    try (BootFile read = BootFile.read(file)) {
      assertThrows(IOException.class, read::signers);
    }
  }

  @Test
  @DisplayName("a damaged boot file of the other slot hides nothing of this one")
  void damagedOther() throws Exception {
    Files.write(bootFiles().resolve("polis-00000002-b.efi"), new byte[10]);
    GetSystemResponse now = slots.describe();
    assertEquals("0.2.0 unknown", now.getVersion() + " " + now.getOtherVersion());
  }

  private void refused(String words, byte[] update) {
    RpcException refused = assertThrows(RpcException.class, () -> install(update));
    assertTrue(refused.getMessage().contains(words), refused.getMessage());
  }

  @Test
  @DisplayName(
      "a system that is damaged or breaks off on its way gets no boot file, and what runs still boots")
  void brokenOff() throws Exception {
    byte[] whole = BootFiles.update("0.3.0", SYSTEM);
    install(whole);
    assertThrows(
        IOException.class,
        () ->
            slots.install(
                new ByteArrayInputStream(Arrays.copyOf(whole, whole.length - 5)), choice(whole)));
    assertEquals(List.of("polis-00000001-a.efi"), names());
    byte[] damaged = whole.clone();
    damaged[damaged.length - 1] ^= 1;
    refused("the part \"system\"", damaged);
    assertEquals(List.of("polis-00000001-a.efi"), names());
  }

  @Test
  @DisplayName("a system on trial replaces nothing, and one that was given up is reported")
  void trial() throws Exception {
    Files.move(
        bootFiles().resolve("polis-00000001-a.efi"),
        bootFiles().resolve("polis-00000003-a+2-1.efi"));
    assertTrue(slots.describe().getTrial());
    refused("still on trial", BootFiles.update("0.3.0", SYSTEM));

    Files.write(bootFiles().resolve("polis-00000004-b+0-3.efi"), BootFiles.of('b', "0.9.0"));
    String reason = slots.look().orElseThrow().reason();
    assertTrue(reason.contains("0.9.0 in slot b"), reason);
    assertTrue(slots.describe().getOtherFailed());
  }

  @Test
  @DisplayName(
      "a recovery in a trial is refused while the former system can boot, and allowed otherwise")
  void recoveryInTrial() throws Exception {
    slots.requireSettled();
    Files.move(
        bootFiles().resolve("polis-00000001-a.efi"),
        bootFiles().resolve("polis-00000003-a+2-1.efi"));
    slots.requireSettled();
    Files.write(bootFiles().resolve("polis-00000002-b.efi"), BootFiles.of('b', "0.1.0"));
    String refused = assertThrows(StorageException.class, slots::requireSettled).getMessage();
    assertTrue(refused.contains("the running system is on trial"), refused);
    Files.move(
        bootFiles().resolve("polis-00000002-b.efi"),
        bootFiles().resolve("polis-00000002-b+0-3.efi"));
    slots.requireSettled();
  }

  @ParameterizedTest
  @CsvSource({"0.1.0,0.1.0,0", "0.2,0.10,-1", "1,1.0.0,0", "2.0,1.9.9,1"})
  @DisplayName("versions compare number by number")
  void versions(String left, String right, int order) {
    assertEquals(order, Integer.signum(Slots.compare(left, right)));
  }
}
