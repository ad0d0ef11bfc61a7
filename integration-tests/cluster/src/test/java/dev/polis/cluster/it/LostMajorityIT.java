package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.pki.Crl;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Loses one of two voters for ever, and lets the other one continue alone, as its operator does;
 * restores the records of a single node.
 */
@Tag("full")
class LostMajorityIT {

  private static final String FIRST = "127.0.57.1";
  private static final String SECOND = "127.0.57.2";
  private static final String ALONE = "127.0.57.3";

  @TempDir static Path directory;

  @Test
  @DisplayName("D-14 the survivor of a lost majority continues with all acknowledged writes")
  void d14_survivor() throws Exception {
    try (GrowingCluster cluster = new GrowingCluster(directory, FIRST);
        TestNode second = cluster.joining("second", SECOND)) {
      String id = cluster.admit(second);
      cluster.becomeVoter(second, id);
      long written = snapshotUnderWriters(cluster, id);
      awaitCaughtUp(cluster);

      cluster.first().killJvm();
      cluster.first().killEtcd();
      cluster.through(SECOND);
      String lost = seesTheLoss(cluster);
      second.stop();
      second.up("--force-new-cluster", lost);

      assertTrue(second.said().contains("lost members: " + cluster.firstId()), second::said);
      await(
          "the survivor to lead",
          () -> cluster.leads(SECOND),
          () -> cluster.ctl("node", "list").all());
      Map<String, JsonObject> members = voters(cluster);
      assertEquals(List.of(id), List.copyOf(members.keySet()));
      assertNotEquals(lost, GrowingCluster.text(members.get(id), "clusterId"));
      long kept =
          cluster
              .listed(id)
              .orElseThrow()
              .getAsJsonObject("labels")
              .get("steady-writer")
              .getAsLong();
      // The last call may have had its effect without an answer.
      assertTrue(kept >= written, "%d was acknowledged, and %d is there".formatted(written, kept));
      removesTheLost(cluster);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "records from before a rotation do not bring the former owner's key back: it stays revoked, explain names the remedy, and the recovery key appoints an owner")
  void formerOwnerStaysOut() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("alone"), ALONE, Mode.INSECURE)) {
      node.up();
      node.takeOwnership();
      Path file = directory.resolve("before.db");
      node.ctl("etcd", "snapshot", file.toString()).requireSuccess("snapshot");
      String lost =
          GrowingCluster.text(
              node.json("etcd", "members").getAsJsonArray().get(0).getAsJsonObject(), "clusterId");
      TestNode thief = TestNode.bare(directory.resolve("thief"), ALONE);
      Path owner = node.state().resolve("owner");
      for (String each : List.of("owner-key.pem", "owner.pem", "ca.pem")) {
        Path copy = thief.state().resolve("owner").resolve(each);
        Files.createDirectories(copy.getParent());
        Files.copy(owner.resolve(each), copy);
      }
      node.ctl("owner", "rotate").requireSuccess("rotate");
      Path list = node.state().resolve("data/node/credentials/revocations.crl");
      await(
          "the revocation list on the disk",
          () -> !Crl.parse(Files.readAllBytes(list)).serials().isEmpty(),
          () -> list);
      node.stop();

      node.up("--force-new-cluster", lost, "--restore", file.toString());

      Finished explained = node.ctl("explain", "etcd-recovered");
      assertTrue(
          explained.all().contains("the recovery key: polisctl owner recover --recovery-key FILE"),
          explained::all);
      await(
          "the former certificate to be refused",
          () -> byThief(thief, "node", "list").all().contains("was revoked"),
          () -> byThief(thief, "node", "list").all());
      Finished taken = byThief(thief, "takeownership");
      assertNotEquals(0, taken.code(), taken::all);
      assertTrue(taken.err().contains("owner recover --recovery-key FILE"), taken::all);
      assertNotEquals(0, byThief(thief, "owner", "rotate").code());
      assertEquals(0, node.ctl("node", "list").code(), "the present certificate");
      Finished present = node.ctl("takeownership");
      assertTrue(present.err().contains("owner recover --recovery-key FILE"), present::all);
      node.ctl("owner", "recover", "--recovery-key", owner.resolve("recovery-key.pem").toString())
          .requireSuccess("recover");
      node.takeOwnership();
      assertTrue(byThief(thief, "node", "list").all().contains("was revoked"));
      Finished again = byThief(thief, "takeownership");
      assertTrue(again.all().contains("this key is no longer the owner's"), again::all);
    }
  }

  private static Finished byThief(TestNode thief, String... arguments) {
    List<String> line = new ArrayList<>(List.of("--endpoint", ALONE));
    line.addAll(List.of(arguments));
    return thief.ctl(line.toArray(String[]::new));
  }

  /** Saves a snapshot while a client writes; returns the last acknowledged number. */
  private static long snapshotUnderWriters(GrowingCluster cluster, String id) throws Exception {
    Path file = directory.resolve("snapshot.db");
    try (OwnerApi owner = OwnerApi.of(cluster.first())) {
      SteadyWriter writer = SteadyWriter.of(owner, id);
      try (writer) {
        writer.awaitMore("before the snapshot");
        Finished saved = cluster.ctl("etcd", "snapshot", file.toString());
        assertTrue(saved.requireSuccess("snapshot").out().contains("secrets"), saved::all);
        writer.awaitMore("after the snapshot");
        writer.check("during a snapshot");
      }
      assertEquals(List.of(), writer.lost());
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
      cluster.ctl("etcd", "check", file.toString()).requireSuccess("a snapshot under writers");
      Finished again = cluster.ctl("etcd", "snapshot", file.toString());
      assertNotEquals(0, again.code(), again.all());
      assertTrue(again.err().contains("replaces no snapshot"), again.all());
      return writer.acknowledged();
    }
  }

  private static void awaitCaughtUp(GrowingCluster cluster) throws Exception {
    await(
        "no member to lag",
        () ->
            cluster.rows("etcd", "members").stream()
                .allMatch(member -> member.has("lag") && member.get("lag").getAsLong() == 0),
        () -> cluster.rows("etcd", "members"));
  }

  /** Requires that the survivor names the silent member; returns the id of the cluster. */
  private static String seesTheLoss(GrowingCluster cluster) {
    Finished members = cluster.ctl("etcd", "members");
    assertTrue(members.requireSuccess("members").err().contains("1 of 2 voters"), members::all);
    assertTrue(
        members.err().contains(cluster.firstId() + ": it did not answer within 2 s"), members::all);
    JsonObject own = voters(cluster).values().iterator().next();
    String lost = GrowingCluster.text(own, "clusterId");
    assertTrue(members.err().contains("--force-new-cluster " + lost), members::all);
    Finished status = cluster.ctl("etcd", "status");
    assertEquals(0, status.code(), status.all());
    return lost;
  }

  private static void removesTheLost(GrowingCluster cluster) {
    String[] withoutRoles = {
      "node", "role", "remove", cluster.firstId(), "KubernetesController", "ConsensusMember"
    };
    cluster.ctl(withoutRoles).requireSuccess("take the roles of the lost node");
    cluster
        .ctl(
            "node",
            "delete",
            cluster.firstId(),
            "--bypass-not-decommissioned",
            "--bypass-has-roles")
        .requireSuccess("delete the lost node");
    assertFalse(cluster.listed(cluster.firstId()).isPresent());
  }

  private static Map<String, JsonObject> voters(GrowingCluster cluster) {
    return cluster.rows("etcd", "members").stream()
        .filter(member -> GrowingCluster.text(member, "role").equals("voter"))
        .collect(
            Collectors.toMap(member -> GrowingCluster.text(member, "name"), Function.identity()));
  }

  private static void await(String what, Callable<Boolean> condition, Callable<?> seen)
      throws Exception {
    Await.until(TestNode.PATIENCE, what, condition, seen);
  }
}
