package dev.polis.containers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.api.containers.ContainersException;
import dev.polis.fixtures.MachineSpeed;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Writes archives of images in a form that tar and containerd read, and reads the names in them.
 */
class PauseImageTest {

  private static final byte[] BUSYBOX = "a static busybox".getBytes(StandardCharsets.UTF_8);

  private static final int MEBI = 1 << 20;

  /** The most that a virtual thread waits while archives are unpacked. */
  private static final Duration PROMISED = Duration.ofSeconds(1);

  private static final DiskSpace ROOM = new DiskSpace(MEBI, 1 << 10);
  private static final int BLOCK = 512;

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
    assertRefused("has an image " + PauseImage.NAME, folder.resolve("pause.tar"));
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
  @DisplayName("names are read from an archive of docker save, compressed or not")
  void docker() throws Exception {
    String json = "[{\"Config\":\"x\",\"RepoTags\":[\"b:2\",\"a:1\"]},{\"RepoTags\":null}]";
    assertEquals(List.of("a:1", "b:2"), names(archive("manifest.json", json, false), ROOM));
    assertEquals(List.of("a:1", "b:2"), names(archive("./manifest.json", json, true), ROOM));
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

  @Test
  @Tag("attack")
  @DisplayName(
      "an archive whose list of images would fill the memory is refused before objects are made of it")
  void manyValues() throws Exception {
    for (String many : List.of("{}", "[]", "1")) {
      String json = "[" + (many + ",").repeat(1 << 17) + many + "]";
      assertRefused("values", archive("manifest.json", json, true));
      assertRefused("values", archive("index.json", "{\"manifests\": " + json + "}", true));
    }
  }

  @Test
  @Tag("attack")
  @Tag("full")
  @Tag("alone")
  @DisplayName(
      "a virtual thread answers within a second while more archives are unpacked than there are processors")
  void virtualThreadsStayFree() throws Exception {
    Path archive = folder.resolve("large.tar");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(archive));
        TarWriter tar = new TarWriter(out)) {
      byte[] layer = new byte[64 << 20];
      for (int each = 0; each < 8; each++) {
        tar.file("layer" + each, 0644, layer);
      }
    }
    MachineSpeed speed = MachineSpeed.measure();
    // A stall of the machine lengthens one round; a carrier that is held lengthens each.
    Duration quietest = slowestAnswer(archive);
    for (int again = 0; again < 2 && quietest.compareTo(PROMISED) > 0; again++) {
      quietest = Collections.min(List.of(quietest, slowestAnswer(archive)));
    }
    speed.assertWithin("a virtual thread answered", PROMISED, quietest);
  }

  /** Unpacks the archive on many threads, and returns the longest wait for a virtual thread. */
  private Duration slowestAnswer(Path archive) throws Exception {
    int archives = 2 * Runtime.getRuntime().availableProcessors();
    CountDownLatch begun = new CountDownLatch(archives);
    List<Thread> unpacking = new ArrayList<>();
    for (int each = 0; each < archives; each++) {
      unpacking.add(
          Thread.startVirtualThread(
              () -> {
                begun.countDown();
                assertThrows(
                    ContainersException.class,
                    () -> names(archive, new DiskSpace(32L << 30, 1 << 20)));
              }));
    }
    Duration slowest = Duration.ZERO;
    while (unpacking.stream().allMatch(Thread::isAlive)) {
      long began = System.nanoTime();
      Thread.startVirtualThread(() -> {}).join();
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      slowest = took.compareTo(slowest) > 0 ? took : slowest;
    }
    assertEquals(0, begun.getCount());
    for (Thread each : unpacking) {
      each.join();
    }
    return slowest;
  }

  private static void assertRefused(String words, Path archive) {
    String message =
        assertThrows(ContainersException.class, () -> names(archive, ROOM)).getMessage();
    assertTrue(message.contains(words), message);
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a name that the node uses itself is refused, in every form that an archive may write it")
  void reservedNames() throws Exception {
    String mine = PauseImage.NAME;
    String named = "{\"annotations\":{\"%s\":\"%s\"}}";
    String full = named.formatted("io.containerd.image.name", mine);
    String reference = named.formatted("org.opencontainers.image.ref.name", mine);
    String other = named.formatted("io.containerd.image.name", "a:1");
    assertRefused(
        "are reserved for images of the node", archive("index.json", manifests(full), false));
    assertRefused(
        "are reserved for images of the node", archive("index.json", manifests(reference), true));
    String both = manifests(other).replace("}]}", "}],\"Manifests\":[" + full + "]}");
    assertRefused("are reserved for images of the node", archive("x/.././index.json", both, false));
    String docker = "[{\"RepoTags\":[\"%s\"]}]".formatted(mine);
    assertRefused("are reserved for images of the node", archive("manifest.json", docker, false));

    Path two = archive("index.json", manifests(other), false);
    try (OutputStream file = Files.newOutputStream(two);
        TarWriter tar = new TarWriter(file)) {
      tar.file("index.json", 0644, manifests(other).getBytes(StandardCharsets.UTF_8));
      tar.file("manifest.json", 0644, docker.getBytes(StandardCharsets.UTF_8));
    }
    assertRefused("are reserved for images of the node", two);

    String merged = full.replace("}}", "},\"annotations\":{\"a\":\"b\"}}");
    assertRefused("twice", archive("index.json", manifests(merged), false));
    String last = full.replace("\"}}", "\",\"io.containerd.image.name\":\"a:1\"}}");
    assertRefused("twice", archive("index.json", manifests(last), false));
  }

  private static String manifests(String manifest) {
    return "{\"manifests\":[" + manifest + "]}";
  }

  @Test
  @Tag("attack")
  @DisplayName("an archive that containerd could read in another way than the node is refused")
  void twoReadings() throws Exception {
    String json = "[{\"RepoTags\":[\"a:1\"]}]";
    Path plain = archive("manifest.json", json, false);
    byte[] good = Files.readAllBytes(plain);
    // The second entry's header begins after the first header and a file of two blocks.
    int second = 3 * BLOCK;

    assertRefused("long name", changed(plain, good, second + 345, "x"));
    assertRefused("is not a file", changed(plain, good, second + 156, "5"));
    assertRefused("no images", changed(plain, good, second + 156, "x"));
    assertRefused("no images", changed(plain, good, second, "\0"));
    assertRefused("damaged", changed(plain, good, second + 124, "-0000000001"));
    byte[] extended = "20 path=index.json\n".getBytes(StandardCharsets.UTF_8);
    try (OutputStream file = Files.newOutputStream(plain);
        TarWriter tar = new TarWriter(file)) {
      tar.file("other", 0644, extended);
      tar.file("manifest.json", 0644, json.getBytes(StandardCharsets.UTF_8));
    }
    assertRefused("long name", changed(plain, Files.readAllBytes(plain), 156, "x"));
    try (OutputStream file = Files.newOutputStream(plain);
        TarWriter tar = new TarWriter(file)) {
      tar.file("manifest.json", 0644, json.getBytes(StandardCharsets.UTF_8));
      tar.file("./manifest.json", 0644, json.getBytes(StandardCharsets.UTF_8));
    }
    assertRefused("has it twice", plain);
  }

  private static Path changed(Path archive, byte[] bytes, int at, String text) throws Exception {
    byte[] other = bytes.clone();
    byte[] put = text.getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(put, 0, other, at, put.length);
    return Files.write(archive, other);
  }

  @Test
  @Tag("attack")
  @DisplayName("an archive, or a layer of it, that grows beyond its bound when unpacked is refused")
  void bombs() throws Exception {
    String json = "[{\"RepoTags\":[\"a:1\"]}]";
    ByteArrayOutputStream bomb = new ByteArrayOutputStream();
    try (OutputStream packed = new GZIPOutputStream(bomb)) {
      packed.write(new byte[2 * MEBI]);
    }
    Path archive = folder.resolve("bomb.tar");
    for (boolean whole : new boolean[] {true, false}) {
      try (OutputStream file = Files.newOutputStream(archive);
          OutputStream out = whole ? new GZIPOutputStream(file) : file;
          TarWriter tar = new TarWriter(out)) {
        tar.file("manifest.json", 0644, json.getBytes(StandardCharsets.UTF_8));
        tar.file("layer.tar", 0644, whole ? new byte[2 * MEBI] : bomb.toByteArray());
      }
      assertTrue(Files.size(archive) < MEBI / 10, "the archive is small while it is packed");
      assertRefused("more than 1 MiB", archive);
    }
    byte[] zstd = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 0};
    try (OutputStream file = Files.newOutputStream(archive);
        TarWriter tar = new TarWriter(file)) {
      tar.file("layer.tar", 0644, zstd);
    }
    assertRefused("zstd", archive);
    byte[] skippable = {0x5a, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
    try (OutputStream file = Files.newOutputStream(archive);
        TarWriter tar = new TarWriter(file)) {
      tar.file("layer.tar", 0644, skippable);
    }
    assertRefused("zstd", archive);
  }

  @Test
  @Tag("attack")
  @DisplayName("a layer of many empty directories counts the blocks and inodes that they take")
  void emptyDirectories() throws Exception {
    ByteArrayOutputStream layer = new ByteArrayOutputStream();
    try (TarWriter tar = new TarWriter(layer)) {
      for (int each = 0; each < 250; each++) {
        tar.directory("d" + each, 0755);
      }
    }
    Path archive =
        images(
            tar -> {
              tar.file("layer.tar", 0644, layer.toByteArray());
              put(tar, "manifest.json", "[{\"RepoTags\":[\"a:1\"],\"Layers\":[\"layer.tar\"]}]");
            });
    assertTrue(Files.size(archive) < MEBI / 4, "the archive and its layer fit the room twice");
    assertRefused("more than 1 MiB", archive);
    assertEquals(List.of("a:1"), names(archive, new DiskSpace(2 * MEBI, ROOM.inodes())));
    String message =
        assertThrows(ContainersException.class, () -> names(archive, new DiskSpace(2 * MEBI, 250)))
            .getMessage();
    assertTrue(message.contains("more than 250 files and directories"), message);
  }

  private Path images(TarEntries entries) throws IOException {
    Path archive = folder.resolve("images.tar");
    try (OutputStream file = Files.newOutputStream(archive);
        TarWriter tar = new TarWriter(file)) {
      entries.write(tar);
    }
    return archive;
  }

  /** Writes the entries of an archive. */
  @FunctionalInterface
  private interface TarEntries {
    void write(TarWriter tar) throws IOException;
  }

  private static void put(TarWriter tar, String name, String text) throws IOException {
    tar.file(name, 0644, text.getBytes(StandardCharsets.UTF_8));
  }

  private static String repeated(int times, String text) {
    return String.join(",", Collections.nCopies(times, text));
  }

  @Test
  @Tag("attack")
  @DisplayName("a layer counts as often as containerd unpacks it, under any name")
  void repeatedLayers() throws Exception {
    byte[] layer = new byte[MEBI / 8];
    String docker = "[{\"RepoTags\":[\"a:1\"],\"Layers\":[%s]}]";
    String digest = "{\"digest\":\"sha256:00\"}";
    String index =
        "{\"manifests\":[{\"digest\":\"sha256:11\",\"annotations\":{\"io.containerd.image.name\":\"a:1\"}}]}";
    for (int times : new int[] {2, 9}) {
      for (TarEntries entries :
          List.<TarEntries>of(
              tar -> {
                tar.file("x/layer.tar", 0644, layer);
                put(tar, "manifest.json", docker.formatted(repeated(times, "\"x/./layer.tar\"")));
              },
              tar -> {
                put(tar, "blobs/sha256/11", "{\"Layers\":[%s]}".formatted(repeated(times, digest)));
                tar.file("blobs/sha256/00", 0644, layer);
                put(tar, "index.json", index);
              },
              tar -> {
                tar.file("x/layer.tar", 0644, layer);
                for (int image = 0; image < times; image++) {
                  tar.file("empty" + image, 0644, new byte[0]);
                }
                put(tar, "manifest.json", imagesBehindOthers(times));
              })) {
        Path archive = images(entries);
        if (times == 2) {
          assertEquals(List.of("a:1"), names(archive, ROOM));
        } else {
          assertRefused("more than 1 MiB", archive);
        }
      }
    }
  }

  private static String imagesBehindOthers(int times) {
    return IntStream.range(0, times)
        .mapToObj("{\"RepoTags\":[\"a:1\"],\"Layers\":[\"empty%d\",\"x/layer.tar\"]}"::formatted)
        .collect(Collectors.joining(",", "[", "]"));
  }

  @Test
  @Tag("attack")
  @DisplayName("a layer that links lead to counts as often as containerd unpacks it")
  void linkedLayers() throws Exception {
    Path archive =
        images(
            tar -> {
              tar.file("x/layer.tar", 0644, new byte[MEBI / 8]);
              for (int link = 0; link < 9; link++) {
                tar.file(link + "/layer.tar", 0644, new byte[0]);
              }
              String names =
                  IntStream.range(0, 9)
                      .mapToObj("\"%d/layer.tar\""::formatted)
                      .collect(Collectors.joining(","));
              put(
                  tar,
                  "manifest.json",
                  "[{\"RepoTags\":[\"a:1\"],\"Layers\":[%s]}]".formatted(names));
            });
    assertEquals(List.of("a:1"), names(archive, ROOM));
    byte[] bytes = Files.readAllBytes(archive);
    int first = BLOCK + MEBI / 8;
    for (int link = 0; link < 9; link++) {
      bytes[first + link * BLOCK + 156] = '2';
      byte[] target = "../x/layer.tar".getBytes(StandardCharsets.US_ASCII);
      System.arraycopy(target, 0, bytes, first + link * BLOCK + 157, target.length);
    }
    assertRefused("more than 1 MiB", Files.write(archive, bytes));
  }

  @Test
  @DisplayName(
      "images with the same first layers, in both forms of one archive, count these layers once")
  void sharedLayers() throws Exception {
    Path archive =
        images(
            tar -> {
              tar.file("blobs/sha256/00", 0644, new byte[MEBI / 8]);
              String oci = "{\"layers\":[{\"digest\":\"sha256:00\"}]}";
              String docker = "{\"RepoTags\":[\"a:1\"],\"Layers\":[\"blobs/sha256/00\"]}";
              for (int image = 1; image <= 9; image++) {
                put(tar, "blobs/sha256/1" + image, oci);
              }
              put(tar, "manifest.json", "[" + repeated(9, docker) + "]");
            });
    assertEquals(List.of("a:1"), names(archive, ROOM));
  }

  @Test
  @Tag("attack")
  @DisplayName("a manifest that the node cannot read, and too many layers, are refused")
  void unknownLayers() throws Exception {
    String index = "{\"manifests\":[{\"digest\":\"sha256:11\"}]}";
    assertRefused(
        "not JSON",
        images(
            tar -> {
              put(tar, "blobs/sha256/11", "{\"layers\":[");
              put(tar, "index.json", index);
            }));
    String absent = "[{\"Layers\":[\"none\",\"none\"]}]";
    assertRefused("does not contain it", images(tar -> put(tar, "manifest.json", absent)));
    String many = "[{\"Layers\":[" + repeated(LayerUses.MOST + 1, "\"none\"") + "]}]";
    assertRefused("save fewer images", images(tar -> put(tar, "manifest.json", many)));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a layer with a sparse file, which can unpack to any size, is refused, compressed or not")
  void sparse() throws Exception {
    String comment = "1006 comment=" + "a".repeat(992) + "\n";
    String hole =
        "22 GNU.sparse.major=0\n22 GNU.sparse.minor=1\n31 GNU.sparse.size=1099511627776\n";
    for (boolean packed : new boolean[] {true, false}) {
      Path wanted = withLayer(layer('x', comment + "13 path=long\n"), packed);
      assertEquals(List.of("a:1"), names(wanted, ROOM));
      wanted = withLayer(layer('0', hole), packed);
      assertEquals(List.of("a:1"), names(wanted, ROOM), "a program that knows them");
      assertRefused("sparse", withLayer(layer('x', comment + hole), packed));
      assertRefused("sparse", withLayer(layer('S', ""), packed));
    }
  }

  /** Returns a tar whose second of three entries has a type of its own. */
  private static byte[] layer(char type, String content) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (TarWriter tar = new TarWriter(bytes)) {
      tar.file("first", 0644, new byte[1]);
      tar.file("second", 0644, content.getBytes(StandardCharsets.UTF_8));
      tar.file("third", 0644, new byte[0]);
    }
    return retyped(bytes.toByteArray(), 2 * BLOCK, type);
  }

  /** Changes the type of the entry whose header is at an offset. */
  static byte[] retyped(byte[] tar, int header, char type) {
    int sum = Integer.parseInt(new String(tar, header + 148, 6, StandardCharsets.US_ASCII), 8);
    byte[] digits = "%06o".formatted(sum + type - '0').getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(digits, 0, tar, header + 148, digits.length);
    tar[header + 156] = (byte) type;
    return tar;
  }

  private Path withLayer(byte[] layer, boolean packed) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = packed ? new GZIPOutputStream(bytes) : bytes) {
      out.write(layer);
    }
    Path archive = folder.resolve("sparse.tar");
    try (OutputStream file = Files.newOutputStream(archive);
        TarWriter tar = new TarWriter(file)) {
      String json = "[{\"RepoTags\":[\"a:1\"]}]";
      tar.file("manifest.json", 0644, json.getBytes(StandardCharsets.UTF_8));
      tar.file("layer.tar", 0644, bytes.toByteArray());
    }
    return archive;
  }

  private static List<String> names(Path archive, DiskSpace most) throws Exception {
    return ImageArchive.read(archive, most).names();
  }
}
