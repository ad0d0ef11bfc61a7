package dev.polis.containers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Takes images in, with scripts in place of containerd's tool and of the sandbox. */
class ImageStoreTest {

  @TempDir private Path folder;
  private ContainersFiles files;

  @BeforeEach
  void makeFolders() throws Exception {
    files = new ContainersFiles(Root.at(folder.resolve("root")));
    files.create();
  }

  private ImageStore store(List<String> enter, Path ctr) {
    return store(enter, ctr, new SpaceClaims());
  }

  private ImageStore store(List<String> enter, Path ctr, SpaceClaims claims) {
    InetAddress here = InetAddress.ofLiteral("127.0.0.1");
    SandboxRequest request =
        new SandboxRequest(Isolation.MACHINE, "t1", here, here, folder, List.of(), List.of());
    return new ImageStore(
        new Sandbox(request, enter, "", folder, "/bin"),
        ctr,
        files,
        new ImageStore.Loading(claims));
  }

  private Path script(String name, String text) throws IOException {
    Path script = Files.writeString(folder.resolve(name), text);
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    return script;
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource({
    "1000 4096 9999999 10000000, more than 0 MiB",
    "99999999 4096 16385 10000000, more than 1 files and directories",
    "99999999 4096 0 0, ''",
    "no such folder, not known how much room"
  })
  @DisplayName(
      "an image is loaded only if its blocks and inodes have room where containerd unpacks")
  void room(String free, String refusal) throws Exception {
    // The script stands for the sandbox, in which another disk may be mounted.
    Path enter =
        script(
            "enter",
            "#!/bin/sh\ncase $1 in stat) echo '%s' ;; *) exec \"$@\" ;; esac\n".formatted(free));
    ImageStore store = store(List.of(enter.toString()), script("ctr", "#!/bin/sh\nexit 0\n"));
    InputStream in = archive(1);
    if (refusal.isEmpty()) {
      assertEquals(List.of("a:1"), store.load(in));
    } else {
      String said = assertThrows(ContainersException.class, () -> store.load(in)).getMessage();
      assertTrue(said.contains(refusal), said);
    }
  }

  private static InputStream archive(int bytes) throws IOException {
    ByteArrayOutputStream archive = new ByteArrayOutputStream();
    try (TarWriter tar = new TarWriter(archive)) {
      tar.file("layer.tar", 0644, new byte[bytes]);
      tar.file("manifest.json", 0644, "[{\"RepoTags\":[\"a:1\"]}]".getBytes(UTF_8));
    }
    return new ByteArrayInputStream(archive.toByteArray());
  }

  @ParameterizedTest(name = "which ends with {0}")
  @ValueSource(ints = {0, 1})
  @Tag("attack")
  @DisplayName("an archive gets no space that an import under way still takes, until its end")
  void claimed(int end) throws Exception {
    Path enter =
        script(
            "enter",
            "#!/bin/sh\ncase $1 in stat) echo '999999999 4096 0 0' ;; *) exec \"$@\" ;; esac\n");
    Path began = folder.resolve("began");
    Path goOn = folder.resolve("goOn");
    // The import waits, as one that unpacks; the disk of the test does not become fuller.
    Path ctr =
        script(
            "ctr",
            "#!/bin/sh\n: > '%s'\nwhile [ ! -e '%s' ]; do sleep 0.1; done\nexit %d\n"
                .formatted(began, goOn, end));
    long free = (256L + 16) << 20;
    ImageStore store = store(List.of(enter.toString()), ctr, new SpaceClaims(file -> free));
    FutureTask<List<String>> first = new FutureTask<>(() -> store.load(archive(5 << 20)));
    Thread.startVirtualThread(first);
    Await.until("the import of the first archive", () -> Files.exists(began));

    String said = assertThrows(IOException.class, () -> store.load(archive(7 << 20))).getMessage();
    assertTrue(said.contains("beside other archives"), said);

    Files.createFile(goOn);
    if (end == 0) {
      assertEquals(List.of("a:1"), first.get(60, TimeUnit.SECONDS));
      assertEquals(List.of("a:1"), store.load(archive(7 << 20)));
    } else {
      assertThrows(ExecutionException.class, () -> first.get(60, TimeUnit.SECONDS));
      assertThrows(ContainersException.class, () -> store.load(archive(7 << 20)), "of the import");
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a foreign image under the name of the node's own is replaced at the next start")
  void pauseOfAnother() throws Exception {
    Path busybox = Files.writeString(folder.resolve("busybox"), "a static busybox");
    // The script records its input, and prints the manifest's digest, as containerd does.
    Path ctr =
        script(
            "ctr",
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
    Path images = folder.resolve("images");
    Path imported = folder.resolve("imported");
    ImageStore store = store(List.of(), ctr);

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
