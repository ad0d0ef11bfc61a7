package dev.polis.containers;

import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import dev.polis.api.containers.ContainersException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Counts how often containerd unpacks each layer of an archive: once for each sequence of layers
 * that ends with it, since each sequence has its own folder. A manifest may name one layer many
 * times, and many manifests may name it after different layers.
 */
final class LayerUses {

  /** The most sequences: a thousand images of sixteen layers, whose names take some 6 MiB. */
  static final int MOST = 1 << 14;

  /** The most links in a chain; a writer of archives links directly to a file. */
  private static final int MOST_LINKS = 8;

  /** Is a sequence of layers: the shorter sequence before it, 0 for none, and the last layer. */
  private record Sequence(int before, String last) {}

  private final Map<String, DiskSpace> sizes = new HashMap<>();
  private final Map<String, String> links = new HashMap<>();
  private final List<List<String>> images = new ArrayList<>();
  private final Set<String> read = new HashSet<>();
  private final Set<String> manifests = new HashSet<>();
  private int names;

  /** Adds a file of the archive with its unpacked disk space. */
  void file(String name, DiskSpace unpacked) {
    count();
    sizes.merge(name, unpacked, DiskSpace::max);
  }

  /** Adds a link, which containerd follows to a layer. */
  void link(String name, String target) {
    count();
    Path folder = Path.of(name).resolveSibling(target);
    links.put(name, folder.normalize().toString());
  }

  /** Reads the layers and manifests in a file, if it is JSON; most files are not. */
  void read(String name, String text) {
    LayerUses said = new LayerUses();
    try {
      said.images(new JsonReader(new StringReader(text)));
    } catch (IOException | IllegalStateException noJson) {
      return; // If a manifest names it, the archive is refused for that.
    }
    read.add(name);
    images.addAll(said.images);
    manifests.addAll(said.manifests);
    names += said.names;
    count();
  }

  private void images(JsonReader json) throws IOException {
    if (json.peek() == JsonToken.BEGIN_ARRAY) {
      json.beginArray();
      while (json.hasNext()) {
        image(json);
      }
      json.endArray();
    } else {
      image(json);
    }
  }

  /** Reads keys in any case, as Go does. */
  private void image(JsonReader json) throws IOException {
    if (json.peek() != JsonToken.BEGIN_OBJECT) {
      json.skipValue();
      return;
    }
    json.beginObject();
    while (json.hasNext()) {
      switch (json.nextName().toLowerCase(Locale.ROOT)) {
        case "layers" -> images.add(files(json));
        case "manifests" -> manifests.addAll(files(json));
        default -> json.skipValue();
      }
    }
    json.endObject();
  }

  /** Returns the files that an array names by path or by digest. */
  private List<String> files(JsonReader json) throws IOException {
    List<String> files = new ArrayList<>();
    if (json.peek() != JsonToken.BEGIN_ARRAY) {
      json.skipValue();
      return files;
    }
    json.beginArray();
    while (json.hasNext()) {
      switch (json.peek()) {
        case STRING -> add(files, Path.of(json.nextString()).normalize().toString());
        case BEGIN_OBJECT -> digest(json, files);
        default -> json.skipValue();
      }
    }
    json.endArray();
    return files;
  }

  private void digest(JsonReader json, List<String> files) throws IOException {
    json.beginObject();
    while (json.hasNext()) {
      if (json.nextName().equalsIgnoreCase("digest") && json.peek() == JsonToken.STRING) {
        add(files, "blobs/" + json.nextString().replaceFirst(":", "/"));
      } else {
        json.skipValue();
      }
    }
    json.endObject();
  }

  private void add(List<String> files, String name) {
    count();
    files.add(name);
  }

  private void count() {
    names++;
    if (names > MOST) {
      throw new ContainersException(
          "the archive has more than %d files, layers and manifests; save fewer images at a time"
              .formatted(MOST));
    }
  }

  /**
   * Reports the space that containerd unpacks beyond one copy of each file.
   *
   * @throws ContainersException if this space is unknown
   */
  void takeCopies(Consumer<DiskSpace> take) {
    for (String manifest : manifests) {
      if (sizes.containsKey(file(manifest)) && !read.contains(file(manifest))) {
        throw new ContainersException(
            "manifest %s of the archive is too large, or not JSON; write the archive again with \"docker save\" or as an OCI layout"
                .formatted(manifest));
      }
    }
    Map<Sequence, Integer> sequences = new HashMap<>();
    Set<String> unpacked = new HashSet<>();
    for (List<String> layers : images) {
      int at = 0;
      for (String layer : layers) {
        String file = file(layer);
        Sequence next = new Sequence(at, file);
        boolean known = sequences.containsKey(next);
        at = sequences.computeIfAbsent(next, _ -> sequences.size() + 1);
        if (!known && !unpacked.add(file)) {
          take.accept(size(file));
        }
      }
    }
  }

  private DiskSpace size(String file) {
    DiskSpace size = sizes.get(file);
    if (size == null) {
      throw new ContainersException(
          "the archive names layer %s more than once but does not contain it; write it again with \"docker save\" or as an OCI layout"
              .formatted(file));
    }
    return size;
  }

  private String file(String name) {
    String file = name;
    for (int steps = 0; links.containsKey(file); steps++) {
      if (steps == MOST_LINKS) {
        throw new ContainersException(
            "%s of the archive is a chain of more than %d links; write it again with \"docker save\" or as an OCI layout"
                .formatted(name, MOST_LINKS));
      }
      file = links.get(file);
    }
    return file;
  }
}
