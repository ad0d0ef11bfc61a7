package dev.polis.node.cleanup;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.base.posix.Mounts;
import dev.polis.base.posix.Mounts.Mount;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class StateMountsTest {
  @Test
  @DisplayName(
      "Volumes below the state directory are listed in reverse order, foreign disks are left alone, and octal escapes are read")
  void mountsBelow() {
    List<String> mountinfo =
        List.of(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
            "30 22 0:40 / /state\\040dir/ephemeral/storage rw,nosuid - fuse /dev/fuse rw",
            "31 22 7:0 / /state\\040dir/data rw shared:1 - xfs /dev/loop0 rw",
            "32 22 7:1 / /state\\040dir2 rw - xfs /dev/loop1 rw",
            "33 22 7:2 / /state\\040dir rw - ext4 /dev/loop2 rw",
            "34 22 8:2 / /state\\040dir/esp rw - vfat /dev/sda2 rw",
            "35 22 253:0 / /state\\040dir/more rw - xfs /dev/mapper/polis-0 rw");

    List<Mount> found = StateMounts.below(Path.of("/state dir"), Mounts.parse(mountinfo));

    assertEquals(
        List.of(
            new Mount(Path.of("/state dir/more"), "xfs", "/dev/mapper/polis-0"),
            new Mount(Path.of("/state dir/data"), "xfs", "/dev/loop0"),
            new Mount(Path.of("/state dir/ephemeral/storage"), "fuse", "/dev/fuse")),
        found);
  }
}
