package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.NodeProcesses;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Loses, finds and moves the key that opens an encrypted volume without another node's help. */
@Tag("longer")
@Tag("full")
class RecoveryKeyIT {

  /** Writes the share of an enrolled key. */
  private static final String SHARE = "dev.polis.storage.RecoveryShareFile.seal";

  /** Comes after the share is written, and before the answer. */
  private static final String ANSWER = "dev.polis.cluster.RecoveryService.logEnrolment";

  static final String BESIDE = "WARNING: the recovery key is beside the data volume";

  private static final int REFUSED = 3;

  @TempDir Path directory;

  /** Makes a node whose parameters name no recovery key, like parameters of other clients. */
  private TestNode withoutRecoveryKey(String address) throws Exception {
    TestNode node = TestNode.prepared(directory.resolve("n"), address);
    Path file = node.state().resolve("esp/parameters.json");
    JsonObject parameters = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
    assertTrue(parameters.getAsJsonObject("clusterBootstrap").remove("recoveryPublicKey") != null);
    Files.writeString(file, parameters.toString());
    Files.delete(node.state().resolve("owner/recovery-key.pem"));
    return node;
  }

  private Finished enroll(TestNode node, Path file) {
    // A busy machine may need longer than the usual 15 s, and this test does not concern speed.
    return node.ctl("--timeout=60", "recovery-key", "enroll", "--to", file.toString());
  }

  /** Starts a node that no recovery key opens, and requires its report and its refusals. */
  private static void reportsThatItHasNone(TestNode node, Mode mode, String... options)
      throws Exception {
    node.up(Stream.concat(Stream.of(mode.options()), Stream.of(options)).toArray(String[]::new));
    assertTrue(node.said().contains("data volume: " + mode.name() + ", "), node.said());
    assertTrue(node.said().contains("WARNING: no recovery key opens the data volume"), node.said());
    node.takeOwnership();
    JsonObject listed = node.json("node", "list").getAsJsonArray().get(0).getAsJsonObject();
    assertEquals(mode.name(), listed.get("storage").getAsString());
    Finished down = node.down();
    assertEquals(REFUSED, down.code(), down.all());
    assertTrue(down.lastLine().contains("recovery-key enroll"), down.lastLine());
    assertTrue(down.lastLine().contains("--anyway"), down.lastLine());
    node.id();
  }

  /**
   * The recovery key is the same in both modes: in the short form {@link
   * #nothingLocksTheOwnerOutUnasked} has the other one.
   */
  static Stream<Mode> protections() {
    return Tier.isLong()
        ? Stream.of(Mode.ENCRYPTED, Mode.AUTHENTICATED_ENCRYPTED)
        : Stream.of(Mode.AUTHENTICATED_ENCRYPTED);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("protections")
  @DisplayName(
      "a cluster without a recovery key reports it, refuses a silent power-off, and gets one by enroll, also from a node that died meanwhile; the key is replaced, and warned of until it is moved away from its volume")
  void withoutAKey(Mode mode) throws Exception {
    StorageModesIT.requireGround(mode);
    Path key = directory.resolve("elsewhere/key.pem");
    try (TestNode node = withoutRecoveryKey("127.0.28." + mode.ordinal())) {
      List<String> deaths = Slice.of(List.of(SHARE, ANSWER), 2);
      reportsThatItHasNone(node, mode, CrashAgent.whenEntered(0, deaths.getFirst()));
      diesWhileEnrolling(node, key);
      for (String later : deaths.subList(1, deaths.size())) {
        node.up(CrashAgent.whenEntered(0, later));
        diesWhileEnrolling(node, key);
      }
      node.up();
      enroll(node, key).requireSuccess("the enrolment");
      assertEquals(0, node.ctl("recovery-key", "check", key.toString()).code());
      node.stop();
      opensWithTheKeyOnStandardInput(node, key);

      Path beside = node.state().resolve("owner/recovery-key.pem");
      replacesALostKey(node, key, beside);
      movesTheKey(node, beside, mode);
    }
  }

  @Test
  @DisplayName(
      "without a recovery key, down asks at a terminal, Ctrl-C leaves the volume mounted, and a power-off by the API is refused")
  void nothingLocksTheOwnerOutUnasked() throws Exception {
    Mode mode = Mode.ENCRYPTED;
    StorageModesIT.requireGround(mode);
    try (TestNode node = withoutRecoveryKey("127.0.28.6")) {
      reportsThatItHasNone(node, mode);
      String id = node.id();

      Finished no = node.downAtTerminal("n");
      assertEquals(REFUSED, no.code(), no.all());
      assertTrue(no.out().contains("no recovery key opens the encrypted data volume"), no.out());
      assertTrue(no.out().contains("y/N"), no.out());
      assertEquals(id, node.id());

      try (OwnerApi owner = OwnerApi.of(node)) {
        StatusException refused = assertThrows(StatusException.class, owner::powerOff);
        assertEquals(Status.Code.FAILED_PRECONDITION, refused.getStatus().getCode());
        assertTrue(refused.getMessage().contains("recovery-key enroll"), refused.getMessage());
      }
      assertEquals(id, node.id());

      assertEquals(0, node.interrupt());
      assertTrue(
          node.said().contains("children and mounts stay for the next start, because no recovery"),
          node.said());
      assertFalse(node.mounts().isEmpty(), "the volume is unmounted");
      node.up();
      assertEquals(id, node.id());

      Finished yes = node.downAtTerminal("y");
      assertEquals(0, yes.code(), yes.all());
      assertEquals(List.of(), node.leftovers());
    }
  }

  private void diesWhileEnrolling(TestNode node, Path key) throws Exception {
    Finished dead = enroll(node, key);
    assertEquals(3, dead.code(), dead.all());
    assertTrue(dead.err().contains("repeat the command"), dead.err());
    assertEquals(CrashAgent.KILLED, node.awaitEnd());
  }

  private void opensWithTheKeyOnStandardInput(TestNode node, Path key) throws Exception {
    byte[] pem = Files.readAllBytes(key);
    String secret = new String(pem, StandardCharsets.US_ASCII).lines().toList().get(1);
    node.startWith(pem, "--recovery-key", "-");
    node.awaitHome();
    assertFalse(node.said().contains("WARNING"), node.said());
    ProcessHandle jvm = ProcessHandle.of(node.jvmPid()).orElseThrow();
    assertFalse(NodeProcesses.commandLine(jvm).contains(secret), "in the list of arguments");
    assertFalse(
        Files.readString(Path.of("/proc/" + jvm.pid() + "/environ"), StandardCharsets.ISO_8859_1)
            .contains(secret),
        "in the environment");
    assertEquals(List.of(), filesWith(node.state(), secret), "on the disk");
  }

  private static List<Path> filesWith(Path folder, String text) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(Files::isRegularFile)
          .filter(file -> !file.startsWith(folder.resolve("data")))
          .filter(file -> !file.getFileName().toString().startsWith("volume."))
          .filter(file -> contains(file, text))
          .toList();
    }
  }

  private static boolean contains(Path file, String text) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1).contains(text);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private void replacesALostKey(TestNode node, Path lost, Path found) throws Exception {
    enroll(node, found).requireSuccess("the enrolment");
    assertEquals(5, node.ctl("recovery-key", "check", lost.toString()).code());
    node.stop();
    Finished refused = node.refused("--recovery-key", lost.toString());
    assertTrue(refused.lastLine().contains("is sealed to the recovery key"), refused.lastLine());
    node.up("--recovery-key", found.toString());
    node.id();
  }

  /** Moves a key that lies beside the volume; the start before warned of it. */
  private void movesTheKey(TestNode node, Path beside, Mode mode) throws Exception {
    assertTrue(node.said().contains(BESIDE), node.said());
    Path safe = directory.resolve("safe.pem");
    Finished moved = node.ctl("recovery-key", "move", safe.toString());
    assertEquals(0, moved.code(), moved.all());
    assertFalse(Files.exists(beside), "the original is still there");
    node.stop();
    node.up("--recovery-key", safe.toString());
    assertFalse(node.said().contains("WARNING"), node.said());
    assertTrue(node.said().contains("data volume: " + mode.name()), node.said());
    node.stop();
  }
}
