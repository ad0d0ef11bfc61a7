package dev.polis.containers;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.base.digest.Sha256;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Makes the image of the process that holds a Pod's namespaces, from a static busybox. Its process
 * waits, collects orphans, and ends with SIGTERM.
 */
final class PauseImage {

  /** The image's name, in a registry that no other software uses. */
  static final String NAME = "polis.local/pause:1";

  /**
   * The script of the process, whose own wait collects orphans and ends with a signal, unlike a
   * child in the foreground. The number is the greatest that busybox' sleep accepts: 68 years.
   */
  private static final String SCRIPT =
      "trap 'exit 0' TERM INT; while :; do /bin/busybox sleep 2147483647 & wait $!; done";

  /** An account that owns no file, like that of Kubernetes' own pause. */
  private static final String USER = "65535:65535";

  private static final int EXECUTABLE = 0755;
  private static final int READABLE = 0644;

  private PauseImage() {}

  /** Holds a blob of the image. */
  private record Blob(String mediaType, byte[] content) {

    String hex() {
      return Sha256.hex(content);
    }

    String digest() {
      return "sha256:" + hex();
    }

    JsonObject descriptor() {
      JsonObject descriptor = new JsonObject();
      descriptor.addProperty("mediaType", mediaType);
      descriptor.addProperty("digest", digest());
      descriptor.addProperty("size", content.length);
      return descriptor;
    }
  }

  /** Holds the blobs of an image, each of which names the earlier ones by their digests. */
  private record Blobs(Blob layer, Blob configuration, Blob manifest) {

    static Blobs of(byte[] busybox, String architecture) throws IOException {
      Blob layer = new Blob("application/vnd.oci.image.layer.v1.tar", PauseImage.layer(busybox));
      Blob configuration =
          json(
              "application/vnd.oci.image.config.v1+json",
              PauseImage.configuration(layer.hex(), architecture));
      return new Blobs(
          layer,
          configuration,
          json(
              "application/vnd.oci.image.manifest.v1+json",
              PauseImage.manifest(configuration, layer)));
    }
  }

  /** Returns containerd's digest of the image that {@link #write} makes. */
  static String digest(byte[] busybox, String architecture) throws IOException {
    return Blobs.of(busybox, architecture).manifest().digest();
  }

  /**
   * Writes the image as a tar with an OCI layout.
   *
   * @param busybox a statically linked busybox
   * @param architecture Go's name of the processor, such as {@code amd64}
   */
  static void write(byte[] busybox, String architecture, OutputStream out) throws IOException {
    Blobs blobs = Blobs.of(busybox, architecture);
    Blob index =
        json("application/vnd.oci.image.index.v1+json", index(blobs.manifest(), architecture));
    try (TarWriter tar = new TarWriter(out)) {
      tar.file("oci-layout", READABLE, utf8("{\"imageLayoutVersion\":\"1.0.0\"}"));
      tar.file("index.json", READABLE, index.content());
      tar.directory("blobs", EXECUTABLE);
      tar.directory("blobs/sha256", EXECUTABLE);
      for (Blob blob : List.of(blobs.layer(), blobs.configuration(), blobs.manifest())) {
        tar.file("blobs/sha256/" + blob.hex(), READABLE, blob.content());
      }
    }
  }

  private static byte[] layer(byte[] busybox) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (TarWriter tar = new TarWriter(bytes)) {
      tar.directory("bin", EXECUTABLE);
      tar.file("bin/busybox", EXECUTABLE, busybox);
    }
    return bytes.toByteArray();
  }

  private static JsonObject configuration(String layer, String architecture) {
    JsonObject process = new JsonObject();
    process.add("Entrypoint", array("/bin/busybox", "sh", "-c", SCRIPT));
    process.addProperty("User", USER);
    JsonObject layers = new JsonObject();
    layers.addProperty("type", "layers");
    layers.add("diff_ids", array("sha256:" + layer));
    JsonObject configuration = new JsonObject();
    configuration.addProperty("architecture", architecture);
    configuration.addProperty("os", "linux");
    configuration.addProperty("created", "1970-01-01T00:00:00Z");
    configuration.add("config", process);
    configuration.add("rootfs", layers);
    return configuration;
  }

  private static JsonObject manifest(Blob configuration, Blob layer) {
    JsonArray layers = new JsonArray();
    layers.add(layer.descriptor());
    JsonObject manifest = new JsonObject();
    manifest.addProperty("schemaVersion", 2);
    manifest.addProperty("mediaType", "application/vnd.oci.image.manifest.v1+json");
    manifest.add("config", configuration.descriptor());
    manifest.add("layers", layers);
    return manifest;
  }

  private static JsonObject index(Blob manifest, String architecture) {
    JsonObject names = new JsonObject();
    names.addProperty("io.containerd.image.name", NAME);
    names.addProperty(
        "org.opencontainers.image.ref.name", NAME.substring(NAME.lastIndexOf(':') + 1));
    JsonObject platform = new JsonObject();
    platform.addProperty("architecture", architecture);
    platform.addProperty("os", "linux");
    JsonObject descriptor = manifest.descriptor();
    descriptor.add("annotations", names);
    descriptor.add("platform", platform);
    JsonArray manifests = new JsonArray();
    manifests.add(descriptor);
    JsonObject index = new JsonObject();
    index.addProperty("schemaVersion", 2);
    index.addProperty("mediaType", "application/vnd.oci.image.index.v1+json");
    index.add("manifests", manifests);
    return index;
  }

  private static JsonArray array(String... texts) {
    JsonArray array = new JsonArray();
    for (String text : texts) {
      array.add(text);
    }
    return array;
  }

  private static Blob json(String mediaType, JsonObject content) {
    return new Blob(mediaType, utf8(content.toString()));
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
