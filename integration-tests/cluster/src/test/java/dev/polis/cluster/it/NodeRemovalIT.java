package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.PublicKey;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Removes nodes from the cluster of a first one, as its operator does. */
@Tag("full")
class NodeRemovalIT {

  private static final String FIRST = "127.0.48.1";

  /** The first bytes of each encoded private key of Ed25519 (RFC 8410), and the length of one. */
  private static final String KEY_HEAD =
      new String(
          HexFormat.of().parseHex("302e020100300506032b657004220420"), StandardCharsets.ISO_8859_1);

  private static final int KEY_BYTES = 48;

  @TempDir static Path directory;
  private static GrowingCluster cluster;
  private static TestNode first;
  private static String firstId;

  @BeforeAll
  static void found() throws Exception {
    cluster = new GrowingCluster(directory, FIRST);
    first = cluster.first();
    firstId = cluster.firstId();
  }

  @AfterAll
  static void sweep() {
    cluster.close();
  }

  private static void firstIsHome() throws Exception {
    cluster.awaitHealthy(firstId);
    Finished health = first.ctl("health");
    assertEquals(0, health.code(), health.all());
  }

  @Test
  @Tag("attack")
  @DisplayName("D-18 a removed node is refused at each port, says so, and does not come back")
  void d18_removed() throws Exception {
    try (TestNode second = cluster.joining("second", "127.0.48.2")) {
      String id = cluster.admit(second, Mode.INSECURE);
      RemovedNode removed = new RemovedNode(second);
      awaitNames(first, FIRST + " " + firstId, second.address() + " " + id);
      awaitNames(second, second.address() + " " + id, FIRST + " " + firstId);
      Finished early = first.ctl("node", "delete", id);
      assertNotEquals(0, early.code(), early.all());
      assertTrue(early.err().contains("node decommission " + id), early.all());

      Finished left = first.ctl("node", "decommission", id);

      assertTrue(
          left.requireSuccess("decommission").out().contains("node delete " + id), left.all());
      assertEquals(
          "DECOMMISSIONED", GrowingCluster.text(cluster.listed(id).orElseThrow(), "state"));
      firstIsHome();
      awaitNames(first, FIRST + " " + firstId);
      removed.saysSo();
      removed.isRefusedAtEachPort(first);

      first.ctl("node", "delete", id).requireSuccess("delete");
      Path list = first.state().resolve("owner/revocations.crl");
      assertNotEquals(Set.of(), Crl.parse(Files.readAllBytes(list)).serials(), "of polisctl");
      assertEquals(Optional.empty(), cluster.listed(id));
      firstIsHome();

      second.stop();
      removed.doesNotComeBack("the cluster has removed " + id);
      assertTrue(Files.exists(second.state().resolve("esp/sealed_configuration.pb")));
      firstIsHome();
    }
  }

  /** Waits until the hosts file of a node has these lines after those of localhost. */
  private static void awaitNames(TestNode node, String... lines) throws Exception {
    Path hosts = node.state().resolve("ephemeral/hosts");
    Await.until(
        TestNode.PATIENCE,
        "the names of the nodes in " + hosts,
        () -> List.of(lines).equals(Files.readAllLines(hosts).stream().skip(2).toList()),
        () -> Files.readString(hosts));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a decommissioned node that was a voter leaves no key of the cluster's CA and no file of etcd on its disk")
  void formerVoter() throws Exception {
    try (TestNode voter = cluster.joining("voter", "127.0.48.7")) {
      String id = cluster.admit(voter, Mode.INSECURE);
      RemovedNode former = new RemovedNode(voter);
      PublicKey ca = OwnerApi.nodeCredentials(voter).ca().issuing().getPublicKey();
      cluster.becomeVoter(voter, id);
      assertNotEquals(List.of(), filesWithKeyOf(ca, voter), "the search finds no key");

      cluster.change("node", "role", "remove", id, GrowingCluster.CONSENSUS);
      Path removed = voter.state().resolve("data/etcd-removed");
      Await.until(
          TestNode.PATIENCE,
          "the node to set its data aside",
          () -> Files.isDirectory(removed) && voter.children("etcd").isEmpty(),
          voter::said);
      assertNotEquals(List.of(), filesWithKeyOf(ca, voter), "it has kept no records");

      // With the role, which the command takes.
      cluster.becomeVoter(voter, id);
      cluster.change("node", "decommission", id);
      Await.until(
          TestNode.PATIENCE,
          "etcd to have only the first voter",
          () -> cluster.voters().equals(Set.of(firstId)),
          cluster::members);
      former.saysSo();

      assertEquals(List.of(), filesWithKeyOf(ca, voter));
      assertFalse(Files.exists(removed), removed::toString);
      assertFalse(Files.exists(voter.state().resolve("data/etcd")), "data/etcd");
      voter.stop();
      Files.writeString(
          Files.createDirectories(removed.resolve("1/data")).resolve("db"),
          "what an interrupted erasure left");
      former.doesNotComeBack("the cluster has removed " + id);
      assertFalse(Files.exists(removed), "the next start did not continue the erasure");
      cluster.change("node", "delete", id);
      firstIsHome();
    }
  }

  /** Returns the files of a node that contain the private half of a key, as etcd stores it. */
  private static List<Path> filesWithKeyOf(PublicKey owner, TestNode node) throws IOException {
    try (Stream<Path> files = Files.walk(node.state())) {
      return files.filter(Files::isRegularFile).filter(file -> hasKeyOf(owner, file)).toList();
    }
  }

  private static boolean hasKeyOf(PublicKey owner, Path file) {
    try {
      // One character for each byte.
      String content = Files.readString(file, StandardCharsets.ISO_8859_1);
      for (int at = content.indexOf(KEY_HEAD); at >= 0; at = content.indexOf(KEY_HEAD, at + 1)) {
        String key = content.substring(at, Math.min(at + KEY_BYTES, content.length()));
        if (key.length() == KEY_BYTES && isOf(owner, key)) {
          return true;
        }
      }
      return false;
    } catch (NoSuchFileException gone) {
      return false; // the node still works
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static boolean isOf(PublicKey owner, String key) {
    byte[] encoded = key.getBytes(StandardCharsets.ISO_8859_1);
    return Ed25519.match(Ed25519.privateKey(encoded), owner);
  }

  @Test
  @DisplayName("a node that was off when it was deleted learns it at its next start, and not again")
  void deletedWhileOff() throws Exception {
    try (TestNode lost = cluster.joining("lost", "127.0.48.3")) {
      String id = cluster.admit(lost, Mode.INSECURE);
      RemovedNode removed = new RemovedNode(lost);
      lost.stop();

      first
          .ctl("node", "delete", id, "--bypass-not-decommissioned")
          .requireSuccess("delete a lost machine");

      removed.doesNotComeBack("the cluster has removed " + id);
      removed.doesNotComeBack("the cluster has removed " + id);
      firstIsHome();
    }
  }

  @Test
  @DisplayName(
      "an encrypted node gets the key of its volume from the cluster after a reboot, and once it was deleted gets none, and says why")
  void deletedEncrypted() throws Exception {
    Mode mode = Mode.AUTHENTICATED_ENCRYPTED;
    StorageModesIT.requireGround(mode);
    try (TestNode lost = cluster.joining("encrypted", "127.0.48.4")) {
      String id = cluster.admit(lost, mode);
      lost.stop();
      assertEquals(List.of(), lost.leftovers());
      lost.up();
      cluster.awaitHealthy(id);
      assertEquals(id, Enrolment.certified(lost).text());
      lost.stop();

      first.ctl("node", "decommission", id).requireSuccess("decommission");
      Finished refused = lost.refused();

      assertNotEquals(0, refused.code(), refused.all());
      assertTrue(
          refused.lastLine().contains("the cluster has removed node " + id), () -> refused.all());
      assertTrue(refused.lastLine().contains("empty state directory"), () -> refused.all());
      first.ctl("node", "delete", id).requireSuccess("delete");
      Finished deleted = lost.refused();
      assertTrue(
          deleted.lastLine().contains("the cluster has removed the node"), () -> deleted.all());
      firstIsHome();
    }
  }

  @Test
  @DisplayName("a node that waits is deleted, says so, and a revoked ticket registers none")
  void waitingNodeAndTicket() throws Exception {
    try (TestNode waiting = cluster.joining("waiting", "127.0.48.5");
        TestNode late = cluster.joining("late", "127.0.48.6")) {
      waiting.start("--security", Mode.INSECURE.option);
      String id = GrowingCluster.awaitRegistered(waiting);
      first.ctl("node", "delete", id).requireSuccess("delete");
      assertNotEquals(0, waiting.awaitEnd());
      assertTrue(waiting.lastWords().contains(id + " is not registered"), waiting.said());

      Finished shown = first.ctl("cluster", "ticket", "show");
      assertTrue(shown.requireSuccess("show").out().contains("valid until"), shown.all());
      first.ctl("cluster", "ticket", "revoke").requireSuccess("revoke");
      int listed = first.json("node", "list").getAsJsonArray().size();
      Finished refused = late.refused("--security", Mode.INSECURE.option);
      assertNotEquals(0, refused.code(), refused.all());
      assertTrue(
          refused.lastLine().contains("the cluster refuses this node: registerticket invalid"),
          () -> refused.all());
      assertEquals(listed, first.json("node", "list").getAsJsonArray().size());
      assertEquals(List.of(), late.leftovers());
      assertFalse(Files.exists(late.state().resolve("data/node")), "it has made a volume");
      assertEquals(
          "",
          GrowingCluster.text(
              first.json("cluster", "ticket", "show").getAsJsonObject(), "validUntil"));
      first.ctl("cluster", "ticket", "replace").requireSuccess("replace");
    }
  }
}
