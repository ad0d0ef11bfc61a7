package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Makes the node's own image, with a script in place of containerd's tool. */
class ImageStoreTest {

  @TempDir private Path folder;

  @Test
  @Tag("attack")
  @DisplayName("a foreign image under the name of the node's own is replaced at the next start")
  void pauseOfAnother() throws Exception {
    Path busybox = Files.writeString(folder.resolve("busybox"), "a static busybox");
    // The script records its input, and prints the manifest's digest, as containerd does.
    Path ctr =
        Files.writeString(
            folder.resolve("ctr"),
            """
            #!/bin/sh
            cd '%s' || exit
            case "$*" in
            *" images import "*)
              for archive; do :; done
              echo >> imported
              digest=$(tar -xOf "$archive" index.json | sed 's/.*"digest":"\\([^"]*\\)".*/\\1/')
              echo "polis.local/pause:1 application/x $digest 1 B linux/amd64 -" > images ;;
            *" images ls -q"*) cut -d ' ' -f 1 images ;;
            *" images ls"*) echo 'REF TYPE DIGEST SIZE PLATFORMS LABELS'; cat images ;;
            esac
            """
                .formatted(folder));
    Files.setPosixFilePermissions(ctr, PosixFilePermissions.fromString("rwx------"));
    Path images = folder.resolve("images");
    Path imported = folder.resolve("imported");
    InetAddress here = InetAddress.ofLiteral("127.0.0.1");
    SandboxRequest request =
        new SandboxRequest(Isolation.MACHINE, "t1", here, here, folder, List.of(), List.of());
    ImageStore store =
        new ImageStore(
            new Sandbox(request, List.of(), "", folder, "/bin"),
            ctr,
            folder,
            new ImageStore.Loading());

    Files.writeString(images, "");
    store.ensurePause(busybox, folder);
    store.ensurePause(busybox, folder);
    assertEquals(1, Files.readAllLines(imported).size(), "it is made once");

    String own = Files.readString(images);
    Files.writeString(images, own.replaceFirst("sha256:.", "sha256:x"));
    store.ensurePause(busybox, folder);
    assertEquals(own, Files.readString(images));

    Files.writeString(images, own.replace("pause:1", "pause:2"));
    store.ensurePause(busybox, folder);
    assertEquals(own, Files.readString(images), "another name is another image");
  }
}
