package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.containers.ContainersException;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Archives of images are written in a form that tar and containerd read, and their names are read.
 */
class PauseImageTest {

  private static final byte[] BUSYBOX = "a static busybox".getBytes(StandardCharsets.UTF_8);

  @TempDir private Path folder;

  private Path unpacked(Path archive) throws Exception {
    Path target = Files.createTempDirectory(folder, "unpacked");
    Process tar =
        new ProcessBuilder("tar", "-xf", archive.toString(), "-C", target.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(tar.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, tar.waitFor(), said);
    assertEquals("", said);
    return target;
  }

  private Path written() throws Exception {
    Path archive = folder.resolve("pause.tar");
    try (OutputStream out = Files.newOutputStream(archive)) {
      PauseImage.write(BUSYBOX, "amd64", out);
    }
    return archive;
  }

  private static JsonObject json(Path file) throws Exception {
    return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
  }

  private static Path blob(Path layout, JsonObject descriptor) throws Exception {
    String digest = descriptor.get("digest").getAsString().substring("sha256:".length());
    Path blob = layout.resolve("blobs/sha256").resolve(digest);
    byte[] content = Files.readAllBytes(blob);
    assertEquals(
        digest, HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content)));
    assertEquals(descriptor.get("size").getAsLong(), content.length);
    return blob;
  }

  @Test
  @DisplayName("the pause image is an OCI layout whose digests and sizes are right")
  void layout() throws Exception {
    Path layout = unpacked(written());
    JsonObject index = json(layout.resolve("index.json"));
    JsonObject manifest =
        json(blob(layout, index.getAsJsonArray("manifests").get(0).getAsJsonObject()));
    JsonObject configuration = json(blob(layout, manifest.getAsJsonObject("config")));
    Path layer = blob(layout, manifest.getAsJsonArray("layers").get(0).getAsJsonObject());
    assertEquals(
        "sha256:" + layer.getFileName(),
        configuration.getAsJsonObject("rootfs").getAsJsonArray("diff_ids").get(0).getAsString());
    assertArrayEquals(BUSYBOX, Files.readAllBytes(unpacked(layer).resolve("bin/busybox")));
    assertTrue(Files.isExecutable(unpacked(layer).resolve("bin/busybox")));
    assertEquals(List.of(PauseImage.NAME), ImageArchive.names(folder.resolve("pause.tar")));
  }

  @Test
  @DisplayName("the same busybox makes the same bytes")
  void reproducible() throws Exception {
    ByteArrayOutputStream again = new ByteArrayOutputStream();
    PauseImage.write(BUSYBOX, "amd64", again);
    assertArrayEquals(Files.readAllBytes(written()), again.toByteArray());
  }

  private Path archive(String name, String json, boolean packed) throws Exception {
    Path archive = folder.resolve("archive.tar");
    try (OutputStream file = Files.newOutputStream(archive);
        OutputStream out = packed ? new GZIPOutputStream(file) : file;
        TarWriter tar = new TarWriter(out)) {
      tar.file("layer.tar", 0644, new byte[1000]);
      tar.file(name, 0644, json.getBytes(StandardCharsets.UTF_8));
    }
    return archive;
  }

  @Test
  @DisplayName("names are read of what docker save writes, packed or not")
  void docker() throws Exception {
    String json = "[{\"Config\":\"x\",\"RepoTags\":[\"b:2\",\"a:1\"]},{\"RepoTags\":null}]";
    assertEquals(List.of("a:1", "b:2"), ImageArchive.names(archive("manifest.json", json, false)));
    assertEquals(List.of("a:1", "b:2"), ImageArchive.names(archive("./manifest.json", json, true)));
  }

  @Test
  @DisplayName("an archive without images, one without names and one that is cut off are refused")
  void wrong() throws Exception {
    assertRefused("holds no images", archive("readme.txt", "hello", false));
    assertRefused("have no names", archive("manifest.json", "[{\"RepoTags\":[]}]", false));
    assertRefused("damaged", archive("index.json", "{\"manifests\": [", false));
    Path cut = archive("manifest.json", "[]", false);
    Files.write(cut, Arrays.copyOf(Files.readAllBytes(cut), 700));
    assertRefused("damaged", cut);
    Path text = Files.writeString(folder.resolve("text"), "no tar at all ".repeat(100));
    assertRefused("damaged", text);
  }

  private static void assertRefused(String words, Path archive) {
    String message =
        assertThrows(ContainersException.class, () -> ImageArchive.names(archive)).getMessage();
    assertTrue(message.contains(words), message);
  }
}
