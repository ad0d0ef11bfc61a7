package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.Slice;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Leads a node's data volume through its life, in each of the three protections. */
@Tag("longer")
class StorageModesIT {

  /** Names the protection of a volume by its option, with the programs that it needs. */
  enum Mode {
    INSECURE("insecure", "data", List.of()),
    ENCRYPTED(
        "encrypted",
        "volume.luks",
        List.of("qemu-storage-daemon", "fusermount3", "losetup", "mkfs.xfs")),
    AUTHENTICATED_ENCRYPTED(
        "authenticated-encrypted", "volume.gocryptfs", List.of("gocryptfs", "fusermount3"));

    final String option;
    final String backing;
    final List<String> programs;

    Mode(String option, String backing, List<String> programs) {
      this.option = option;
      this.backing = backing;
      this.programs = programs;
    }

    boolean encrypted() {
      return this != INSECURE;
    }

    /** Returns the options of a first start that makes a small volume. */
    String[] options() {
      return new String[] {"--security", option, "--set", SMALL};
    }

    /** Returns the protection of the volume that a stopped node has in its state directory. */
    static Mode of(Path state) {
      return Stream.of(ENCRYPTED, AUTHENTICATED_ENCRYPTED)
          .filter(mode -> Files.exists(state.resolve(mode.backing)))
          .findFirst()
          .orElse(INSECURE);
    }
  }

  /** A marker that is not in a file by chance. */
  private static final String WITNESS = "witness-5b1f0c7e9a";

  /** Large enough to read a volume quickly; a marker across two blocks is found, too. */
  private static final int BLOCK = 4 << 20;

  /** The smallest possible volume, since these tests read all of it several times. */
  static final String SMALL = "dev.polis.storage.volume.mebibytes=512";

  /** The content of most blocks of a volume's image. */
  private static final byte[] HOLE = new byte[BLOCK];

  @TempDir Path directory;

  @Test
  @Tag("attack")
  @Tag("full")
  @DisplayName("the strongest volume keeps its data over a stop and a kill, and reveals nothing")
  void theStrongestVolumeLives() throws Exception {
    Mode mode = Mode.AUTHENTICATED_ENCRYPTED;
    requireGround(mode);
    try (TestNode node = TestNode.member(directory.resolve("n"), "127.0.23.3")) {
      assertEquals(mode, Mode.of(node.state()));
      lives(node, mode);
    }
  }

  /** One by turns in the short form: other classes have nodes of each kind. */
  static List<Mode> others() {
    return Slice.of(List.of(Mode.INSECURE, Mode.ENCRYPTED), 2);
  }

  @ParameterizedTest(name = "{0}")
  @Tag("full")
  @MethodSource("others")
  @DisplayName("a volume keeps its data over a stop and a kill, and reveals nothing")
  void aVolumeLives(Mode mode) throws Exception {
    requireGround(mode);
    String address = "127.0.23." + (1 + mode.ordinal());
    try (TestNode node = TestNode.member(directory.resolve("n"), address, mode)) {
      lives(node, mode);
    }
  }

  /** Starts a member that was stopped after its bootstrap, with the volume of that time. */
  private static void lives(TestNode node, Mode mode) throws Exception {
    node.up();
    assertEquals(mode.encrypted(), node.said().contains(RecoveryKeyIT.BESIDE), node.said());
    // The certificate that its cluster gave to the owner before the stop is still valid.
    String id = node.id();
    etcdHasItsAccount(node, mode);
    try (OwnerApi owner = OwnerApi.of(node)) {
      owner.label(id, "witness", WITNESS);
    }
    if (mode.encrypted()) {
      isAdoptedAfterKill(node, id);
    }
    goesDown(node);
    searchBacking(node, mode, id);
    if (mode.encrypted()) {
      refusesWithoutRecoveryKey(node);
    }
  }

  /**
   * Requires that a root node gives etcd an account, except on a volume where only one user can
   * make files.
   */
  private static void etcdHasItsAccount(TestNode node, Mode mode) throws Exception {
    if (!Needs.isRoot()) {
      return;
    }
    boolean root = mode == Mode.AUTHENTICATED_ENCRYPTED;
    String user = root ? "0" : "60902";
    assertEquals(Collections.nCopies(4, user), TestNode.users(node.etcd().pid()));
    String health = node.ctl("health", "-o", "json").out();
    assertEquals(root, health.contains("etcd runs as root: "), health);
  }

  /**
   * Skips the test where such a volume is impossible; fails with a reason if a program is missing.
   */
  static void requireGround(Mode mode) {
    if (!mode.encrypted()) {
      return;
    }
    String purpose = "mounting an " + mode + " volume";
    Needs.root(purpose);
    Needs.device(purpose, Path.of("/dev/fuse"));
    if (mode == Mode.ENCRYPTED) {
      Needs.device(purpose, Path.of("/dev/loop-control"));
    }
    for (String program : mode.programs) {
      boolean found =
          Stream.of("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
              .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
      assertTrue(
          found,
          "the program "
              + program
              + " is missing: install qemu-system-common, qemu-utils, gocryptfs, fuse3 and xfsprogs");
    }
  }

  private static void goesDown(TestNode node) throws Exception {
    Finished down = node.down();
    assertEquals(0, down.code(), down.all());
    assertEquals(List.of(), node.leftovers(), down.all());
  }

  /**
   * Requires all markers in a plain folder, which proves that the search works, and none elsewhere.
   */
  private static void searchBacking(TestNode node, Mode mode, String id) throws Exception {
    Path backing = node.state().resolve(mode.backing);
    assertTrue(Files.exists(backing), backing + " is where the volume should lie");
    Set<String> markers = Set.of(WITNESS, id, "-----BEGIN ", "namespaced:");
    Set<String> found = new LinkedHashSet<>();
    try (Stream<Path> files = Files.walk(backing)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        found.addAll(contained(file, markers));
      }
    }
    assertEquals(mode.encrypted() ? Set.of() : markers, found, "found in plain text in " + backing);
    if (mode.encrypted()) {
      Path point = node.state().resolve("data");
      try (Stream<Path> below = Files.exists(point) ? Files.list(point) : Stream.empty()) {
        assertEquals(List.of(), below.toList(), "data beside the volume, below its mount point");
      }
    }
  }

  private static Set<String> contained(Path file, Set<String> markers) throws Exception {
    Set<String> found = new LinkedHashSet<>();
    byte[] buffer = new byte[BLOCK];
    int kept = 0;
    try (InputStream in = Files.newInputStream(file)) {
      while (true) {
        int read = in.readNBytes(buffer, kept, BLOCK - kept);
        if (read == BLOCK - kept && Arrays.equals(buffer, HOLE)) {
          continue;
        }
        String text = new String(buffer, 0, kept + read, StandardCharsets.ISO_8859_1);
        markers.stream().filter(text::contains).forEach(found::add);
        if (read < BLOCK - kept) {
          return found;
        }
        kept = 128;
        System.arraycopy(buffer, BLOCK - kept, buffer, 0, kept);
      }
    }
  }

  private static void refusesWithoutRecoveryKey(TestNode node) throws Exception {
    var before = RefusalIT.state(node.state());
    Finished refused = node.refused();
    assertEquals(1, refused.code(), refused.all());
    assertTrue(refused.lastLine().contains("--recovery-key"), refused.lastLine());
    assertEquals(before, RefusalIT.state(node.state()));
    Path wrong = node.state().resolve("wrong-key.pem");
    Files.copy(node.state().resolve("owner/owner-key.pem"), wrong);
    Finished wrongKey = node.refused("--recovery-key", wrong.toString());
    assertNotEquals(0, wrongKey.code(), wrongKey.all());
    assertTrue(wrongKey.lastLine().contains(wrong.toString()), wrongKey.lastLine());
    Files.delete(wrong);
    assertEquals(before, RefusalIT.state(node.state()));
  }

  /** Requires that the volume stays mounted, so that the next start needs no key. */
  private static void isAdoptedAfterKill(TestNode node, String id) throws Exception {
    long etcd = node.etcd().pid();
    node.killJvm();
    assertFalse(node.mounts().isEmpty(), "the volume was unmounted with the JVM");
    List<String> mounts = node.mounts();
    node.up();
    assertEquals(etcd, node.etcd().pid());
    assertEquals(mounts, node.mounts());
    String list = node.json("node", "list").toString();
    assertTrue(list.contains(id), list);
    assertTrue(list.contains(WITNESS), list);
  }
}
