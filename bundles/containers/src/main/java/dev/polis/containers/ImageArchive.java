package dev.polis.containers;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.MalformedJsonException;
import dev.polis.api.containers.ContainersException;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Reads the names of the images in an archive and the unpacked size; the archive is an OCI layout
 * or a file of {@code docker save}. It refuses an archive that this class and containerd might read
 * differently.
 */
final class ImageArchive {

  /** The prefix of the node's own image names, such as the image of each Pod's first process. */
  static final String RESERVED = "polis.local/";

  private static final String INDEX = "index.json";
  private static final String MANIFEST = "manifest.json";

  /** The key for the full name in containerd and newer Dockers. */
  private static final String FULL_NAME = "io.containerd.image.name";

  /** The key in the OCI layout, often only the tag. */
  private static final String REFERENCE = "org.opencontainers.image.ref.name";

  static final int BLOCK = 512;

  static final int NAME_LENGTH = 100;
  private static final int SIZE = 124;
  private static final int SIZE_LENGTH = 12;
  static final int TYPE = 156;
  static final int LINK = 157;
  static final int LINK_LENGTH = 100;
  static final int PREFIX = 345;
  static final int PREFIX_LENGTH = 155;

  /** The files that containerd adds for a layer: the layer as it came, and three directories. */
  private static final int FILES_OF_A_LAYER = 4;

  /** The largest JSON file; a thousand images need a tenth of this. */
  private static final int MOST_JSON = 4 << 20;

  /**
   * The most values in one JSON file: objects, lists, texts and numbers; a thousand images of
   * sixteen layers have half of this. Each takes 130 bytes of memory, and two or three bytes of a
   * file.
   */
  private static final int MOST_VALUES = 1 << 16;

  private static final byte[] GZIP = {0x1f, (byte) 0x8b};
  private static final byte[] ZSTD = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd};

  /** The begin of a frame that readers of zstd skip, after a byte from 0x50 to 0x5f. */
  private static final byte[] SKIPPABLE = {0x2a, 0x4d, 0x18};

  private final Map<String, JsonElement> found = new HashMap<>();
  private final LayerUses layers = new LayerUses();
  private final DiskSpace most;
  private DiskSpace left;
  private int values;

  /**
   * Describes an archive.
   *
   * @param names the names of its images, sorted
   * @param space the disk space of the archive with its unpacked layers
   */
  record Contents(List<String> names, DiskSpace space) {}

  private ImageArchive(DiskSpace most) {
    this.most = most;
    this.left = most;
  }

  /**
   * Reads an archive to its end, on a thread of its own: a virtual thread that computes for seconds
   * would keep its carrier from the other calls, also if it yields.
   *
   * @param most the most disk space of the archive with its unpacked layers
   * @throws ContainersException if it is no archive of images, has no named image, has one of the
   *     node's own names, or is too large
   */
  static Contents read(Path archive, DiskSpace most) throws IOException, InterruptedException {
    try (ExecutorService thread =
        Executors.newSingleThreadExecutor(
            Thread.ofPlatform().daemon().name("image archive").factory())) {
      Future<Contents> reading = thread.submit(() -> readHere(archive, most));
      try {
        return reading.get();
      } catch (InterruptedException hurried) {
        reading.cancel(true); // the interrupt closes the file
        throw hurried;
      }
    } catch (ExecutionException failed) {
      switch (failed.getCause()) {
        case IOException unreadable -> throw unreadable;
        case RuntimeException failure -> throw failure;
        case Error failure -> throw failure;
        default -> throw new IllegalStateException(failed.getCause());
      }
    }
  }

  private static Contents readHere(Path archive, DiskSpace most) throws IOException {
    ImageArchive read = new ImageArchive(most);
    try (InputStream in = plain(Files.newInputStream(archive))) {
      read.collect(in);
      read.layers.takeCopies(read::take);
    } catch (EOFException
        | ZipException
        | MalformedJsonException
        | NumberFormatException
        | InvalidPathException
        | JsonParseException damaged) {
      throw new ContainersException(
          "the archive is damaged, truncated or not a tar file; write it again with \"docker save\" or as an OCI layout",
          damaged);
    }
    return new Contents(read.names(), most.minus(read.left));
  }

  private List<String> names() {
    if (found.isEmpty()) {
      throw new ContainersException(
          "the archive holds no images: it has neither %s nor %s; write it with \"docker save\" or as an OCI layout"
              .formatted(INDEX, MANIFEST));
    }
    found.values().forEach(ImageArchive::refuseReserved);
    Set<String> names = new TreeSet<>(ofIndex(found.get(INDEX)));
    if (names.isEmpty()) {
      names.addAll(ofManifest(found.get(MANIFEST)));
    }
    if (names.isEmpty()) {
      throw new ContainersException(
          "the images of the archive have no names; save them by name, such as \"docker save busybox:1\"");
    }
    return List.copyOf(names);
  }

  /**
   * Refuses each text that might be one of the node's own names, since containerd also reads
   * capital keys and other files.
   */
  private static void refuseReserved(JsonElement json) {
    switch (json) {
      case JsonObject object -> object.asMap().values().forEach(ImageArchive::refuseReserved);
      case JsonArray array -> array.forEach(ImageArchive::refuseReserved);
      case JsonPrimitive text when text.getAsString().startsWith(RESERVED) ->
          throw new ContainersException(
              "the archive has an image %s: names under %s are reserved for images of the node; give it another name"
                  .formatted(text.getAsString(), RESERVED));
      default -> {}
    }
  }

  /** Returns the unpacked content of a stream. */
  private static InputStream plain(InputStream in) throws IOException {
    PushbackInputStream start = new PushbackInputStream(in, ZSTD.length);
    byte[] first = start.readNBytes(ZSTD.length);
    start.unread(first);
    if (Arrays.equals(first, ZSTD) || skippable(first)) {
      throw new ContainersException(
          "the archive is compressed with zstd, which does not give the unpacked size; write it with gzip, or uncompressed");
    }
    return new BufferedInputStream(
        Arrays.equals(Arrays.copyOf(first, GZIP.length), GZIP)
            ? new GZIPInputStream(start)
            : start);
  }

  private static boolean skippable(byte[] first) {
    return first.length == ZSTD.length
        && (first[0] & 0xf0) == 0x50
        && Arrays.equals(Arrays.copyOfRange(first, 1, first.length), SKIPPABLE);
  }

  private void collect(InputStream in) throws IOException {
    byte[] header = header(in);
    while (!Arrays.equals(header, new byte[BLOCK])) {
      long size = size(header);
      String name = name(header);
      take(size);
      Limited content = new Limited(in, size);
      switch (header[TYPE]) {
        case '0', 0 -> file(name, size, content);
        case 'x' -> requireSameName(size, content);
        case '2' -> link(name, size, header);
        default -> requireNoContent(name, size);
      }
      content.skipNBytes(content.left);
      in.skipNBytes((BLOCK - size % BLOCK) % BLOCK);
      header = header(in);
    }
  }

  private byte[] header(InputStream in) throws IOException {
    take(BLOCK);
    byte[] header = in.readNBytes(BLOCK);
    if (header.length != BLOCK) {
      throw new EOFException("it ends too early");
    }
    return header;
  }

  /** Returns the size in a header. */
  static long size(byte[] header) {
    return Long.parseUnsignedLong(text(header, SIZE, SIZE_LENGTH).strip(), 8);
  }

  private static String name(byte[] header) {
    if (header[PREFIX] != 0) {
      throw otherName();
    }
    return Path.of(text(header, 0, NAME_LENGTH)).normalize().toString();
  }

  private void file(String name, long size, InputStream content) throws IOException {
    if (name.equals(INDEX) || name.equals(MANIFEST)) {
      if (size > MOST_JSON || found.containsKey(name)) {
        throw new ContainersException(
            "%s of the archive is larger than %d MiB, or the archive has it twice; write it again with \"docker save\" or as an OCI layout"
                .formatted(name, MOST_JSON >> 20));
      }
      String json = new String(content.readAllBytes(), StandardCharsets.UTF_8);
      values = 0;
      requireKeysOnce(new JsonReader(new StringReader(json)), name);
      found.put(name, JsonParser.parseString(json));
      layers.read(name, json);
      return;
    }
    InputStream whole = content;
    if (size <= MOST_JSON) {
      byte[] small = content.readAllBytes();
      layers.read(name, new String(small, StandardCharsets.UTF_8));
      whole = new ByteArrayInputStream(small);
    }
    layers.file(name, unpack(name, whole));
  }

  /** Returns the disk space of a file's unpacked content. */
  private DiskSpace unpack(String name, InputStream content) throws IOException {
    InputStream plain = plain(content);
    LayerDisk disk = new LayerDisk(name);
    DiskSpace unpacked = LayerDisk.of(FILES_OF_A_LAYER);
    take(unpacked);
    byte[] block = new byte[BLOCK];
    for (int read = plain.readNBytes(block, 0, BLOCK);
        read > 0;
        read = plain.readNBytes(block, 0, BLOCK)) {
      DiskSpace more = disk.next(block, read);
      take(more);
      unpacked = unpacked.plus(more);
    }
    return unpacked;
  }

  private void link(String name, long size, byte[] header) {
    requireNoContent(name, size);
    layers.link(name, text(header, LINK, LINK_LENGTH));
  }

  /** Refuses two values of one key: the node's JSON keeps the last one, while Go's merges both. */
  private void requireKeysOnce(JsonReader json, String name) throws IOException {
    values++;
    if (values > MOST_VALUES) {
      throw new ContainersException(
          "%s of the archive has more than %d values; save fewer images at a time"
              .formatted(name, MOST_VALUES));
    }
    switch (json.peek()) {
      case BEGIN_OBJECT -> {
        json.beginObject();
        Set<String> keys = new HashSet<>();
        while (json.hasNext()) {
          String key = json.nextName();
          if (!keys.add(key)) {
            throw new ContainersException(
                "%s of the archive has the key \"%s\" twice in one object; write it again with \"docker save\" or as an OCI layout"
                    .formatted(name, key));
          }
          requireKeysOnce(json, name);
        }
        json.endObject();
      }
      case BEGIN_ARRAY -> {
        json.beginArray();
        while (json.hasNext()) {
          requireKeysOnce(json, name);
        }
        json.endArray();
      }
      default -> json.skipValue();
    }
  }

  /** Refuses an extended header that contradicts the header itself. */
  private static void requireSameName(long size, InputStream records) throws IOException {
    String text = new String(records.readNBytes(MOST_JSON), StandardCharsets.UTF_8);
    if (size > MOST_JSON
        || text.contains("path=")
        || text.contains("size=")
        || text.contains("GNU.sparse")) {
      throw otherName();
    }
  }

  private static ContainersException otherName() {
    return new ContainersException(
        "the archive extends the header of a file by a long name or size, which archives of images do not need; write it again with \"docker save\" or as an OCI layout");
  }

  private static void requireNoContent(String name, long size) {
    if (size > 0) {
      throw new ContainersException(
          "the archive's entry \"%s\" is not a file and has content; write it again with \"docker save\" or as an OCI layout"
              .formatted(name));
    }
  }

  private void take(long bytes) {
    take(new DiskSpace(bytes, 0));
  }

  private void take(DiskSpace taken) {
    left = left.minus(taken);
    if (taken.bytes() < 0 || left.bytes() < 0) {
      throw tooLarge("%d MiB".formatted(most.bytes() >> 20));
    }
    if (left.inodes() < 0) {
      throw tooLarge("%d files and directories".formatted(most.inodes()));
    }
  }

  private static ContainersException tooLarge(String most) {
    return new ContainersException(
        "unpacked, the archive and its layers take more than %s, for which there is no room; remove images, enlarge the volume, or load fewer at a time"
            .formatted(most));
  }

  /** Ends at the end of an entry. */
  private static final class Limited extends FilterInputStream {
    private long left;

    Limited(InputStream in, long size) {
      super(in);
      left = size;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (left == 0) {
        return -1;
      }
      int read = in.read(target, offset, (int) Math.min(left, length));
      if (read < 0) {
        throw new EOFException("it ends too early");
      }
      left -= read;
      return read;
    }

    /**
     * Returns whether more bytes follow, which the unpacking asks before it begins another member.
     */
    @Override
    public int available() {
      return (int) Math.min(left, Integer.MAX_VALUE);
    }

    @Override
    public long skip(long bytes) throws IOException {
      long skipped = in.skip(Math.min(left, bytes));
      left -= skipped;
      return skipped;
    }

    /** Keeps the archive open. */
    @Override
    public void close() {}
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
