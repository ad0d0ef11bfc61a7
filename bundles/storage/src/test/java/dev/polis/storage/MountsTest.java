package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class MountsTest {

  @Test
  void aLineOfTheKernelIsRead() {
    var mounts =
        Mounts.parse(
            List.of(
                "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - xfs /dev/loop3 rw",
                "37 35 0:5 / /with\\040space rw - fuse.gocryptfs /a\\040b rw"));
    assertEquals(new Mounts.Mount(Path.of("/mnt2"), "xfs", "/dev/loop3"), mounts.get(0));
    assertEquals(new Mounts.Mount(Path.of("/with space"), "fuse.gocryptfs", "/a b"), mounts.get(1));
  }

  @Test
  void thisMachineHasARootButNothingAtAnUnknownPath() throws Exception {
    assertTrue(Mounts.at(Path.of("/")).isPresent());
    assertTrue(Mounts.at(Path.of("/no/such/place")).isEmpty());
  }
}
