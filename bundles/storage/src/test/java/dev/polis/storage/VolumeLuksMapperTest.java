package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import dev.polis.process.Commands;
import dev.polis.process.ProgramPath;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VolumeLuksMapperTest {

  @TempDir Path directory;

  private VolumeLuksMapper volume(StorageSecurity security, Path device, boolean root) {
    return new VolumeLuksMapper(
        security,
        Root.at(directory),
        Optional.of(device),
        "polis-0011223344556677",
        64 << 20,
        new VolumeTools(new Commands(), root));
  }

  private VolumeLuksMapper image(boolean root) {
    return new VolumeLuksMapper(
        StorageSecurity.ENCRYPTED,
        Root.at(directory),
        Optional.empty(),
        "polis-0011223344556677",
        64 << 20,
        new VolumeTools(new Commands(), root));
  }

  @Test
  @DisplayName("a file system is made even where random bytes look like another one")
  void noiseIsNoFileSystem() throws Exception {
    assumeTrue(
        ProgramPath.find("", List.of("mkfs.xfs")).isPresent(),
        "making a file system needs mkfs.xfs");
    Path device = directory.resolve("device");
    try (RandomAccessFile file = new RandomAccessFile(device.toFile(), "rw")) {
      file.setLength(512L << 20);
    }
    VolumeTools tools = new VolumeTools(new Commands(), false);
    tools.makeFileSystem(device, device.toString());
    tools.makeFileSystem(device, device.toString());
  }

  @Test
  void commandLinesOfEncrypted() {
    VolumeLuksMapper volume = volume(StorageSecurity.ENCRYPTED, Path.of("/dev/vda5"), true);
    assertEquals(
        "cryptsetup luksFormat --type luks2 --batch-mode --cipher aes-xts-plain64 --key-size 512"
            + " --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file - /dev/vda5",
        String.join(" ", volume.formatCommand()));
    assertEquals(
        "cryptsetup open --type luks2 --key-file - --allow-discards /dev/vda5 polis-0011223344556677",
        String.join(" ", volume.openCommand()));
  }

  @Test
  void commandLinesOfAuthenticatedEncrypted() {
    VolumeLuksMapper volume =
        volume(StorageSecurity.AUTHENTICATED_ENCRYPTED, Path.of("/dev/vda5"), true);
    List<String> format = volume.formatCommand();
    assertEquals(
        List.of("--integrity", "hmac-sha256", "/dev/vda5"),
        format.subList(format.size() - 3, format.size()));
    assertFalse(volume.openCommand().contains("--allow-discards"));
  }

  @Test
  @DisplayName(
      "STO-04 the header made by the format command opens with its key and without device-mapper")
  void sto04_headerAndKey() throws Exception {
    Path image = Files.createFile(directory.resolve("disk"));
    Files.write(image, new byte[64 << 20]);
    VolumeLuksMapper volume = volume(StorageSecurity.ENCRYPTED, image, true);
    assertFalse(volume.exists(), "a disk of zeros is free");
    VolumeTools tools = new VolumeTools(new Commands(), true);
    try (VolumeKey key = VolumeKey.of(UnlockKeys.generate(new SecureRandom()));
        VolumeKey wrong = VolumeKey.of(UnlockKeys.generate(new SecureRandom()))) {
      tools.run(java.time.Duration.ofMinutes(1), key.passphrase(), image, volume.formatCommand());
      assertTrue(volume.exists());
      String before = Shell.digest(image);
      tools.requireOpens(key, image, volume.testCommand());
      assertEquals(
          Refusal.WRONG_KEY,
          assertThrows(
                  StorageException.class,
                  () -> tools.requireOpens(wrong, image, volume.testCommand()))
              .refusal());
      assertEquals(before, Shell.digest(image));
    }
  }

  @Test
  void aDiskWithAnythingOnItIsNotFree() throws Exception {
    byte[] content = new byte[2 << 20];
    content[(1 << 20) - 1] = 1;
    Path disk = Files.write(directory.resolve("disk"), content);
    assertTrue(volume(StorageSecurity.ENCRYPTED, disk, true).exists());
    Arrays.fill(content, (byte) 0);
    Files.write(disk, content);
    assertFalse(volume(StorageSecurity.ENCRYPTED, disk, true).exists());
  }

  @Test
  void whatIsMissingIsSaidInWords() {
    assumeFalse(VolumeTools.opens(VolumeLuksMapper.CONTROL), "this kernel has device-mapper");
    Needs.root("telling a device with nothing behind it from one that is forbidden");
    StorageException refusal = assertThrows(StorageException.class, () -> image(false).require());
    assertEquals(Refusal.UNSUPPORTED, refusal.refusal());
    assertTrue(refusal.getMessage().contains("device /dev/mapper/control"), refusal.getMessage());
    assertTrue(refusal.getMessage().contains("start the node as root"), refusal.getMessage());
  }

  @Test
  void aMissingProgramIsSaidWithItsPackage() {
    Commands none =
        new Commands() {
          @Override
          public boolean has(String program) {
            return false;
          }
        };
    StorageException refusal =
        assertThrows(
            StorageException.class,
            () ->
                new VolumeGocryptfs(
                        Root.at(directory),
                        directory.resolve("key"),
                        new VolumeTools(none, true),
                        new VolumeDaemonsManaged(null))
                    .require());
    assertTrue(refusal.getMessage().contains("program gocryptfs"), refusal.getMessage());
    assertTrue(
        refusal.getMessage().contains("install the Debian packages fuse3 gocryptfs"),
        refusal.getMessage());
  }
}
