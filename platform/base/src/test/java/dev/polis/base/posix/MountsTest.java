package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
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
  void escapedBytesAreReadAndOthersStayAsTheyAre() {
    assertArrayEquals(
        "/\u00ff b\\c\td".getBytes(StandardCharsets.ISO_8859_1),
        Mounts.unescape("/\u00ff\\040b\\134c\\011d"));
  }

  @Test
  void aLineOfAnotherFormIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> Mounts.parse(List.of("a b c")));
  }

  @Test
  @Tag("attack")
  @DisplayName("a mount point whose name is no valid path, which any user can make, hides no other")
  void strangeNames() {
    byte[] table =
        ("36 35 98:0 / /mnt1 rw - xfs /dev/loop3 rw\n"
                + "37 35 0:5 / /home/a\u00ff rw - fuse.\u00fe \u00fd rw\n"
                + "38 35 0:6 / /home/a\rb rw - fuse any rw\n"
                + "39 35 0:7 / /\u00c3\u00a4 rw - fuse.\u00fe \u00fd rw\n")
            .getBytes(StandardCharsets.ISO_8859_1);

    assertEquals(
        List.of(
            new Mounts.Mount(Path.of("/mnt1"), "xfs", "/dev/loop3"),
            new Mounts.Mount(Path.of("/home/a\rb"), "fuse", "any"),
            new Mounts.Mount(Path.of("/ä"), "fuse.\ufffd", "\ufffd")),
        Mounts.parse(table));
  }

  @Test
  @Tag("attack")
  @DisplayName("a file system is mounted and unmounted beside one whose name is not valid text")
  void besideAStrangeName() throws Exception {
    Namespaces.assumeRoot();
    String script =
        """
        mkdir "$0/plain" "$0/strange" && mount -t tmpfs any "$0/strange" || exit
        point="$0/strange/$(printf 'a\\377\\rb')"
        mkdir "$point" && mount -t tmpfs any "$point" && exec "$@"
        """;
    Path plain = directory.resolve("plain");

    assertEquals(
        new Namespaces.Ended(
            0, List.of(new Mounts.Mount(plain, "tmpfs", "any").toString(), "EBUSY", "false")),
        Namespaces.run(
            List.of("--mount", "sh", "-c", script, directory.toString()),
            "mount",
            plain.toString()));
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
