package dev.polis.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MountsTest {

  @TempDir Path directory;

  @Test
  void aLineOfTheKernelIsParsed() {
    var mounts =
        Mounts.parse(
            List.of(
                "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - xfs /dev/loop3 rw",
                "37 35 0:5 / /with\\040space rw - fuse.gocryptfs /a\\040b rw"));
    assertEquals(new Mounts.Mount(Path.of("/mnt2"), "xfs", "/dev/loop3"), mounts.get(0));
    assertEquals(new Mounts.Mount(Path.of("/with space"), "fuse.gocryptfs", "/a b"), mounts.get(1));
  }

  @Test
  void escapedBytesAreReadAndNamesBeyondAsciiStayAsTheyAre() {
    assertEquals("/ä b\\c\td", Mounts.unescape("/ä\\040b\\134c\\011d"));
  }

  @Test
  void aLineOfAnotherFormIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> Mounts.parse(List.of("a b c")));
  }

  @Test
  void thisMachineHasARootButNothingAtAnUnknownPath() throws Exception {
    assertTrue(Mounts.at(Path.of("/")).isPresent());
    assertTrue(Mounts.at(Path.of("/no/such/place")).isEmpty());
  }

  @Test
  void aFileSystemIsMountedAndUnmountedAndABusyOneIsRefused() throws Exception {
    Namespaces.assumeRoot();
    assertEquals(
        new Namespaces.Ended(
            0, List.of(new Mounts.Mount(directory, "tmpfs", "any").toString(), "EBUSY", "false")),
        Namespaces.run(List.of("--mount"), "mount", directory.toString()));
    assertTrue(Mounts.at(directory).isEmpty(), "it was mounted in another namespace alone");
  }

  @Test
  void unmountingWhatIsNoMountIsRefused() throws Exception {
    PosixException refused = assertThrows(PosixException.class, () -> Mounts.unmount(directory));
    assertEquals(Machine.effectiveUser() == 0 ? Errno.EINVAL : Errno.EPERM, refused.errno());
  }
}
