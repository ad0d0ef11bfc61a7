package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import dev.polis.process.Commands;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Checks the report on a volume that is weaker than possible because the machine lacks a feature.
 */
class VolumeCatalogTest {

  @TempDir Path directory;

  private String shortfall(StorageSecurity present, boolean root, String... missing)
      throws Exception {
    Commands commands =
        new Commands() {
          @Override
          public boolean has(String program) {
            return !Set.of(missing).contains(program);
          }
        };
    return VolumeCatalog.of(
            Root.at(directory),
            VolumeBench.SIZE,
            Optional.empty(),
            new VolumeTools(commands, root),
            new VolumeDaemonsManaged(null))
        .shortfall(present);
  }

  private static final Path MAPPER = Path.of("/dev/mapper/control");

  private static void assumeFuseAndNoMapper() {
    assumeTrue(VolumeTools.opens(Path.of("/dev/fuse")), "this test needs /dev/fuse");
    assumeNoMapper();
  }

  private static void assumeNoMapper() {
    if (Files.exists(MAPPER)) {
      Needs.root("telling whether there is a device-mapper behind " + MAPPER);
    }
    assumeFalse(VolumeTools.opens(VolumeLuksMapper.CONTROL), "this kernel has device-mapper");
  }

  @Test
  void missingProgramsAreNamedWithTheirPackages() throws Exception {
    assumeFuseAndNoMapper();
    String said = shortfall(StorageSecurity.INSECURE, true, "gocryptfs", "qemu-storage-daemon");
    assertTrue(
        said.contains(
            "AUTHENTICATED_ENCRYPTED needs program gocryptfs (install the Debian packages gocryptfs)"),
        said);
    assertTrue(said.contains("ENCRYPTED needs program qemu-storage-daemon"), said);
    assertTrue(said.contains("qemu-system-common"), said);
  }

  @Test
  void aSecurityThatThisMachineCanGiveIsNamedWithItsOption() throws Exception {
    assumeFuseAndNoMapper();
    assertEquals(
        "This machine can give AUTHENTICATED_ENCRYPTED: start with --security"
            + " authenticated-encrypted and another state directory",
        shortfall(StorageSecurity.ENCRYPTED, true));
  }

  @Test
  void aVolumeIsInsecureBecauseTheNodeDoesNotRunAsRoot() throws Exception {
    String said = shortfall(StorageSecurity.INSECURE, false, "gocryptfs");
    assertTrue(said.startsWith("It is the default for a node that does not run as root"), said);
  }

  @Test
  void aWeakerEncryptionNeedsRootInWords() throws Exception {
    assumeFuseAndNoMapper();
    String said = shortfall(StorageSecurity.INSECURE, false, "gocryptfs");
    assertTrue(said.contains("ENCRYPTED needs the right to mount"), said);
    assertTrue(said.contains("start the node as root"), said);
  }

  @Test
  void nothingIsSaidOfTheStrongestSecurity() throws Exception {
    assertEquals("", shortfall(StorageSecurity.AUTHENTICATED_ENCRYPTED, true, "gocryptfs"));
  }

  @Test
  void aMissingDeviceIsNamedWithItsKernelModule() {
    VolumeTools tools = new VolumeTools(new Commands(), true);
    Shortage shortage =
        tools.shortage(java.util.List.of(), java.util.List.of(directory.resolve("nothing")), true);
    assertEquals(1, shortage.kernel());
    assertFalse(shortage.isEmpty());
    assumeNoMapper();
    Shortage mapper = tools.shortage(java.util.List.of(), java.util.List.of(MAPPER), true);
    assertTrue(mapper.words().contains("modprobe -a dm_crypt dm_integrity"), mapper.words());
  }
}
