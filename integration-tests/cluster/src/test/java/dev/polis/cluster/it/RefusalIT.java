package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.JsonFormat;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.Slice;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks that wrong input is refused with a reason before any change on the disk. The short form
 * takes some of the bad options, ports and distributions, by turns.
 */
@Tag("full")
@Tag("longer")
class RefusalIT {

  /** The files that every start may write, refused or not. */
  private static final List<String> OF_EVERY_START =
      List.of(
          "node.lock", "log/", "ephemeral/", "plugins/", "esp/crash.txt", "esp/crash-shown.txt");

  /** Debian's user "nobody", who owns no files. */
  private static final int NOBODY = 65534;

  @TempDir static Path directory;

  /** A node that was never started, with valid parameters. */
  private static TestNode fresh;

  private static NodeParameters good;

  @BeforeAll
  static void prepare() throws Exception {
    fresh = TestNode.prepared(directory.resolve("fresh"), "127.0.24.1");
    NodeParameters.Builder parameters = NodeParameters.newBuilder();
    JsonFormat.parser()
        .merge(Files.readString(fresh.state().resolve("esp/parameters.json")), parameters);
    good = parameters.build();
  }

  @AfterAll
  static void sweep() {
    fresh.close();
  }

  /** Returns digests of all files that a refused start must not change. */
  static Map<String, String> state(Path folder) throws IOException {
    Map<String, String> digests = new TreeMap<>(TestNode.digests(folder));
    digests.keySet().removeIf(file -> OF_EVERY_START.stream().anyMatch(file::startsWith));
    return digests;
  }

  /** Starts a node that must be refused, with these words in its last line. */
  private static void refuses(TestNode node, List<String> words, String... options)
      throws Exception {
    Map<String, String> before = state(node.state());
    Finished refused = node.refused(options);
    says(refused, words);
    assertEquals(before, state(node.state()), "changed by a start that was refused");
    assertEquals(List.of(), node.leftovers());
  }

  private static void says(Finished refused, List<String> words) {
    assertNotEquals(0, refused.code(), refused.all());
    for (String word : words) {
      assertTrue(
          refused.lastLine().contains(word),
          () -> "the last line does not contain \"" + word + "\": " + refused.all());
    }
  }

  /** Returns one bad file for each reader; {@code NodeParametersLoaderTest} has the others. */
  static Stream<Arguments> badParameters() {
    ByteString both =
        good.toByteString()
            .concat(
                NodeParameters.newBuilder()
                    .setClusterRegister(ClusterRegister.getDefaultInstance())
                    .build()
                    .toByteString());
    return Stream.of(
        bad("both kinds, binary", "p.pb", both.toByteArray(), "both cluster_bootstrap and"),
        bad(
            "unknown field, JSON",
            "p.json",
            "{\"clusterBotstrap\":{}}".getBytes(),
            "clusterBotstrap"));
  }

  private static Arguments bad(String what, String file, byte[] content, String... words) {
    return Arguments.of(what, file, content, List.of(words));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("badParameters")
  @DisplayName("SEED-04 bad node parameters are refused with file and field")
  void seed04_badParameters(String what, String name, byte[] content, List<String> words)
      throws Exception {
    Path file = directory.resolve(name);
    Files.write(file, content);
    List<String> all = new ArrayList<>(words);
    all.add(file.toString());
    refuses(fresh, all, "--parameters", file.toString());
  }

  @Test
  @DisplayName("SEED-04 without node parameters the refusal names every place and the remedy")
  void seed04_noParameters() throws Exception {
    Path state = directory.resolve("bare");
    Files.createDirectories(state);
    TestNode node = TestNode.bare(state, "127.0.24.2");
    refuses(node, List.of("no node parameters found", state + "/esp/parameters.pb", "params make"));
    Path none = directory.resolve("none.json");
    refuses(node, List.of(none.toString(), "not exist"), "--parameters", none.toString());
  }

  @Test
  @DisplayName("a bad option is refused before any organ starts, with the likely correct value")
  void badOptions() throws Exception {
    List<BadOption> options =
        List.of(
            new BadOption(List.of("\"ectd\"", "etcd"), "--set", "dev.polis.consensus.ectd=/x"),
            new BadOption(
                List.of("\"strong\", which is not known", "strongest"), "--security", "strong"),
            new BadOption(
                List.of("127.0.24.900"), "--set", "dev.polis.network.address=127.0.24.900"));
    for (BadOption each : Slice.of(options, 3)) {
      refuses(fresh, each.words(), each.option(), each.value());
    }
  }

  /** An option with a value that is refused in these words. */
  private record BadOption(List<String> words, String option, String value) {}

  @Test
  @DisplayName("an etcd that is missing or too old is refused with its path")
  void badEtcd() throws Exception {
    Path folder = Files.createDirectories(directory.resolve("etcd"));
    Path etcd = folder.resolve("etcd");
    try (TestNode node = TestNode.prepared(directory.resolve("etcd-less"), "127.0.24.3")) {
      refusesEtcd(node, folder, "etcd is not at " + etcd);
      // A node makes and saves its keys once, before it searches for etcd.
      Map<String, String> begun = keys(node);
      Files.writeString(etcd, "#!/bin/sh\necho etcd Version: 3.4.23\n");
      Files.setPosixFilePermissions(etcd, PosixFilePermissions.fromString("rwxr-xr-x"));
      refusesEtcd(node, folder, etcd + " is etcd 3.4.23, older than 3.5");
      assertEquals(begun, keys(node));
    }
  }

  /**
   * Returns the files on disk without the journal, which contains the time of its last entry, and
   * the recovery share, which seals the same secret anew.
   */
  private static Map<String, String> keys(TestNode node) throws IOException {
    Map<String, String> state = state(node.state());
    assertNotEquals(null, state.remove("esp/enrolment_journal.pb"), state.toString());
    assertNotEquals(null, state.remove("esp/recovery_share.pb"), state.toString());
    return state;
  }

  private static void refusesEtcd(TestNode node, Path folder, String words) throws Exception {
    says(node.refused("--etcd", folder.toString(), "--security", "insecure"), List.of(words));
  }

  @Test
  @DisplayName(
      "a port that is taken is named with its process; a state directory belongs to one node, and refuses foreign or missing parts")
  void stateOfAnother() throws Exception {
    try (TestNode one = TestNode.prepared(directory.resolve("one"), "127.0.24.5");
        TestNode other = TestNode.member(directory.resolve("other"), "127.0.24.6", Mode.INSECURE)) {
      // One port of etcd, and the last port that a node opens.
      for (int port : Slice.of(List.of(7834, 7839), 2)) {
        try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getByName(one.address()))) {
          says(
              one.refused("--security", "insecure"),
              List.of(Integer.toString(port), "" + ProcessHandle.current().pid()));
        }
      }
      // The next start continues the enrolment.
      one.up("--security", "insecure");
      Finished running = one.refused();
      assertEquals(4, running.code(), running.all());
      says(running, List.of("already runs", one.state().toString(), "process " + one.jvmPid()));
      one.stop();

      // Puts the credentials of one node into the volume of another.
      Path data = other.state().resolve("data");
      Path aside = other.state().resolve("aside");
      Files.move(data, aside);
      copy(one.state().resolve("data"), data);
      refuses(other, List.of("another"));
      delete(data);
      Files.move(aside, data);

      // A missing volume is never made anew.
      Files.move(data, aside);
      refuses(other, List.of(data.toString()));
      delete(data);
      Files.move(aside, data);

      Path sealed = other.state().resolve("esp/sealed_configuration.pb");
      byte[] whole = Files.readAllBytes(sealed);
      byte[] flipped = whole.clone();
      flipped[flipped.length / 2] ^= 0x40;
      Files.write(sealed, flipped);
      refuses(other, List.of(sealed.toString(), "corrupted"));
      Files.write(sealed, whole);
      other.up();
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : all.toList()) {
        Path target = to.resolve(from.relativize(path).toString());
        Files.copy(path, target, StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    for (Path path : LiveTree.bottomUp(folder)) {
      Files.delete(path);
    }
  }

  @Test
  @DisplayName("a state directory that cannot be written is refused with its path")
  void unwritable() throws Exception {
    Needs.root("acting as another user");
    // The distribution may be in a folder that only its owner can read.
    Path open = directory.resolve("open");
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    TestDistribution distribution = TestDistribution.copied(open);
    Path state = Files.createDirectories(directory.resolve("unwritable"));
    TestNode node = TestNode.bare(state, "127.0.24.7").with(distribution.folder());
    Map<String, String> before = TestNode.digests(state);
    Finished refused = node.refusedAs(NOBODY, "--etcd", "/nonexistent");
    says(refused, List.of(state.toString(), "written"));
    assertEquals(before, TestNode.digests(state));
    Path file = Files.writeString(directory.resolve("file"), "");
    says(TestNode.bare(file, "127.0.24.7").refused(), List.of(file.toString(), "is a file"));
    assertEquals("", Files.readString(file));
  }

  /** The ways in which bundles do not fit together. */
  enum Misfit {
    WITHOUT_A_SERVICE,
    WITHOUT_A_CLASS,
    IN_A_CYCLE
  }

  static List<Misfit> misfits() {
    return Slice.of(List.of(Misfit.values()), 3);
  }

  /** {@code LauncherTest} has missing and garbled bundles. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("misfits")
  @DisplayName("a distribution whose bundles do not fit together is refused with the bundle's name")
  void badDistribution(Misfit misfit) throws Exception {
    TestDistribution copy = TestDistribution.copied(directory.resolve(misfit.name()));
    TestNode node = fresh.with(copy.folder());
    switch (misfit) {
      case WITHOUT_A_SERVICE -> {
        copy.remove("dev.polis.curator");
        refuses(node, List.of("dev.polis.api.curator.Curator", "dev.polis.cluster"));
      }
      case WITHOUT_A_CLASS -> {
        copy.remove("dev.polis.supervision");
        refuses(node, List.of("dev.polis.supervision.Supervisor"));
      }
      case IN_A_CYCLE -> {
        copy.add("egg", "test.Egg", "test.Hen");
        copy.add("hen", "test.Hen", "test.Egg");
        refuses(node, List.of("egg", "hen", "test.Egg", "test.Hen"));
      }
    }
  }
}
