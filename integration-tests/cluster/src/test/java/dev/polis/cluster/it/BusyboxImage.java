package dev.polis.cluster.it;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dev.polis.fixtures.Finished;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Makes an archive with an image of one static program, busybox, in the form of an OCI layout. Its
 * layer is not compressed, so that only tar is needed.
 */
final class BusyboxImage {

  static final String NAME = "polis.test/busybox:1";

  private static final String INDEX = "application/vnd.oci.image.index.v1+json";
  private static final String MANIFEST = "application/vnd.oci.image.manifest.v1+json";
  private static final String CONFIG = "application/vnd.oci.image.config.v1+json";
  private static final String LAYER = "application/vnd.oci.image.layer.v1.tar";
  private static final Duration SOON = Duration.ofSeconds(60);

  private final Path blobs;

  private BusyboxImage(Path blobs) {
    this.blobs = blobs;
  }

  /** Writes the archive into a folder and returns it. */
  static Path write(Path busybox, Path folder) throws Exception {
    Path layout = Files.createDirectories(folder.resolve("layout"));
    BusyboxImage image =
        new BusyboxImage(Files.createDirectories(layout.resolve("blobs").resolve("sha256")));
    byte[] layer = Files.readAllBytes(layer(busybox, folder));
    JsonObject manifest = new JsonObject();
    manifest.addProperty("schemaVersion", 2);
    manifest.addProperty("mediaType", MANIFEST);
    manifest.add("config", image.put(CONFIG, config(layer)));
    manifest.add("layers", array(image.put(LAYER, layer)));
    JsonObject entry = image.put(MANIFEST, bytes(manifest));
    JsonObject annotations = new JsonObject();
    annotations.addProperty("io.containerd.image.name", NAME);
    annotations.addProperty("org.opencontainers.image.ref.name", "1");
    entry.add("annotations", annotations);
    JsonObject index = new JsonObject();
    index.addProperty("schemaVersion", 2);
    index.addProperty("mediaType", INDEX);
    index.add("manifests", array(entry));
    Files.write(layout.resolve("index.json"), bytes(index));
    Files.writeString(layout.resolve("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}");
    return tar(layout, folder.resolve("busybox.tar"));
  }

  /** Writes one folder of programs, in which each applet is a link to the one program. */
  private static Path layer(Path busybox, Path folder) throws Exception {
    Path root = folder.resolve("root");
    for (String name : List.of("bin", "etc", "tmp", "proc", "sys", "dev")) {
      Files.createDirectories(root.resolve(name));
    }
    Path program = Files.copy(busybox, root.resolve("bin/busybox"));
    Finished applets = Finished.of(List.of(program.toString(), "--list"), Map.of(), SOON);
    for (String applet : applets.requireSuccess("busybox --list").out().lines().toList()) {
      if (!applet.equals("busybox")) {
        Files.createSymbolicLink(root.resolve("bin").resolve(applet), Path.of("busybox"));
      }
    }
    Files.writeString(root.resolve("etc/passwd"), "root:x:0:0:root:/:/bin/sh\n");
    Files.writeString(root.resolve("etc/group"), "root:x:0:\n");
    return tar(root, folder.resolve("layer.tar"));
  }

  private static Path tar(Path folder, Path archive) throws Exception {
    Finished.of(
            List.of(
                "tar",
                "--sort=name",
                "--mtime=@0",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
                "-C",
                folder.toString(),
                "-cf",
                archive.toString(),
                "."),
            Map.of(),
            SOON)
        .requireSuccess("tar of " + folder);
    return archive;
  }

  private static byte[] config(byte[] layer) throws Exception {
    JsonObject process = new JsonObject();
    process.add("Env", array(new JsonPrimitive("PATH=/bin")));
    process.add("Cmd", array(new JsonPrimitive("sh")));
    JsonObject files = new JsonObject();
    files.addProperty("type", "layers");
    files.add("diff_ids", array(new JsonPrimitive("sha256:" + sha256(layer))));
    JsonObject config = new JsonObject();
    config.addProperty("architecture", "amd64");
    config.addProperty("os", "linux");
    config.add("config", process);
    config.add("rootfs", files);
    return bytes(config);
  }

  private static JsonArray array(JsonElement only) {
    JsonArray array = new JsonArray();
    array.add(only);
    return array;
  }

  private JsonObject put(String type, byte[] content) throws Exception {
    String digest = sha256(content);
    Files.write(blobs.resolve(digest), content);
    JsonObject descriptor = new JsonObject();
    descriptor.addProperty("mediaType", type);
    descriptor.addProperty("digest", "sha256:" + digest);
    descriptor.addProperty("size", content.length);
    return descriptor;
  }

  private static String sha256(byte[] content) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
  }

  private static byte[] bytes(JsonObject object) {
    return object.toString().getBytes(StandardCharsets.UTF_8);
  }
}
