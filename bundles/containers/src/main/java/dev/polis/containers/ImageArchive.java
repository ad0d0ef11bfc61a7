package dev.polis.containers;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import dev.polis.api.containers.ContainersException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.GZIPInputStream;

/** Reads which images an archive holds: an OCI layout, or what {@code docker save} writes. */
final class ImageArchive {

  private static final String INDEX = "index.json";
  private static final String MANIFEST = "manifest.json";

  /** Of containerd and of newer Dockers: the whole name. */
  private static final String FULL_NAME = "io.containerd.image.name";

  /** Of the OCI layout: often the tag alone. */
  private static final String REFERENCE = "org.opencontainers.image.ref.name";

  private static final int BLOCK = 512;
  private static final int SIZE = 124;
  private static final int SIZE_LENGTH = 12;
  private static final int MOST_NAME = 100;

  /** A thousand images need a tenth of it. */
  private static final long MOST_JSON = 4L << 20;

  private static final int GZIP_FIRST = 0x1f;
  private static final int GZIP_SECOND = 0x8b;

  private ImageArchive() {}

  /**
   * Returns the names of the images in an archive, sorted.
   *
   * @throws ContainersException if it is no archive of images, or none of them has a name
   */
  static List<String> names(Path archive) throws IOException {
    Map<String, JsonElement> found = new HashMap<>();
    try (InputStream in = open(archive)) {
      collect(in, found);
    } catch (EOFException | NumberFormatException | JsonParseException damaged) {
      throw new ContainersException(
          "the archive is damaged, cut off or no tar; write it again with \"docker save\" or as an OCI layout",
          damaged);
    }
    Set<String> names = new TreeSet<>(ofIndex(found.get(INDEX)));
    if (names.isEmpty()) {
      names.addAll(ofManifest(found.get(MANIFEST)));
    }
    if (found.isEmpty()) {
      throw new ContainersException(
          "the archive holds no images: it has neither %s nor %s; write it with \"docker save\" or as an OCI layout"
              .formatted(INDEX, MANIFEST));
    }
    if (names.isEmpty()) {
      throw new ContainersException(
          "the images of the archive have no names; save them by name, such as \"docker save busybox:1\"");
    }
    return List.copyOf(names);
  }

  private static InputStream open(Path archive) throws IOException {
    InputStream in = new BufferedInputStream(Files.newInputStream(archive));
    in.mark(2);
    boolean packed = in.read() == GZIP_FIRST && in.read() == GZIP_SECOND;
    in.reset();
    return packed ? new BufferedInputStream(new GZIPInputStream(in)) : in;
  }

  private static void collect(InputStream in, Map<String, JsonElement> found) throws IOException {
    byte[] header = in.readNBytes(BLOCK);
    while (header.length == BLOCK && header[0] != 0) {
      String name = text(header, 0, MOST_NAME);
      long size = Long.parseLong(text(header, SIZE, SIZE_LENGTH).strip(), 8);
      long padded = (size + BLOCK - 1) / BLOCK * BLOCK;
      String plain = name.startsWith("./") ? name.substring(2) : name;
      if ((plain.equals(INDEX) || plain.equals(MANIFEST)) && size <= MOST_JSON) {
        byte[] json = in.readNBytes((int) size);
        found.put(plain, JsonParser.parseString(new String(json, StandardCharsets.UTF_8)));
        in.skipNBytes(padded - size);
      } else {
        in.skipNBytes(padded);
      }
      header = in.readNBytes(BLOCK);
    }
    if (header.length != BLOCK) {
      throw new EOFException("it ends in the middle");
    }
  }

  private static String text(byte[] header, int at, int length) {
    int end = at;
    while (end < at + length && header[end] != 0) {
      end++;
    }
    return new String(header, at, end - at, StandardCharsets.UTF_8);
  }

  private static List<String> ofIndex(JsonElement index) {
    List<String> names = new ArrayList<>();
    for (JsonElement manifest : array(index, "manifests")) {
      String full = annotation(manifest, FULL_NAME);
      String reference = annotation(manifest, REFERENCE);
      if (!full.isEmpty()) {
        names.add(full);
      } else if (reference.contains("/") || reference.contains(":")) {
        names.add(reference);
      }
    }
    return names;
  }

  private static List<String> ofManifest(JsonElement manifest) {
    List<String> names = new ArrayList<>();
    if (manifest instanceof JsonArray images) {
      images.forEach(
          image -> array(image, "RepoTags").forEach(name -> names.add(name.getAsString())));
    }
    return names;
  }

  private static JsonArray array(JsonElement parent, String name) {
    return parent instanceof JsonObject object && object.get(name) instanceof JsonArray array
        ? array
        : new JsonArray();
  }

  private static String annotation(JsonElement manifest, String name) {
    return manifest instanceof JsonObject object
            && object.get("annotations") instanceof JsonObject all
            && all.get(name) != null
            && all.get(name).isJsonPrimitive()
        ? all.get(name).getAsString()
        : "";
  }
}
