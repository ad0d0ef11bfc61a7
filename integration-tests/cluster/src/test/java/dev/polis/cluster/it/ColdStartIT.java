package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Cuts the power of all nodes of an encrypted cluster of three voters, and starts them again. */
@Tag("full")
@Tag("longer")
class ColdStartIT {

  private static final List<String> ADDRESSES = List.of("127.0.54.1", "127.0.54.2", "127.0.54.3");
  private static final Mode MODE = Mode.AUTHENTICATED_ENCRYPTED;
  private static final String WITNESS = "cold-start";

  /** Names the remedy, as a node does that waits for its key. */
  private static final String GIVE_A_MAJORITY =
      "give a majority of them the owner's recovery key (on each polis down, then polis up --recovery-key FILE)";

  /** Names the remedy, as a voter does whose volume is open and that is alone. */
  private static final String GIVE_THE_OTHERS =
      "one that waits for the key of its volume needs the owner's recovery key, too (polis down, then polis up --recovery-key FILE)";

  @TempDir static Path directory;

  private static ThreeVoters voters;
  private static String key;

  @BeforeAll
  static void grow() throws Exception {
    StorageModesIT.requireGround(MODE);
    voters = new ThreeVoters(directory, ADDRESSES, MODE);
    voters.found();
    // As the first hour of the handbook does, before other nodes join.
    key = directory.resolve("safe.pem").toString();
    TestNode founder = voters.cluster().first();
    founder.ctl("recovery-key", "move", key).requireSuccess("the key is not moved");
    voters.join();
    voters.vote();
  }

  @AfterAll
  static void sweep() {
    if (voters != null) {
      voters.close();
    }
  }

  @Test
  @DisplayName("the recovery key that was moved away before others joined opens the volumes of all")
  void oneKey() {
    for (TestNode node : voters.nodes()) {
      Finished check = node.ctl("recovery-key", "check", key);
      check.requireSuccess("the key of the cluster does not open the volume of " + node.address());
      assertFalse(
          Files.exists(node.state().resolve("owner/recovery-key.pem")),
          "another recovery key was made beside the volume of " + node.address());
    }
  }

  @Test
  @DisplayName(
      "a cluster whose nodes all lost power waits and names the remedy, and comes back as it was when a majority gets the owner's recovery key; the last node gets its key from the leader")
  void majority() throws Exception {
    voters.label(WITNESS, "majority");
    TestNode.losePower(voters.nodes());
    TestNode first = voters.nodes().get(0);
    TestNode second = voters.nodes().get(1);
    TestNode third = voters.nodes().get(2);
    for (TestNode node : voters.nodes()) {
      node.start();
    }
    for (TestNode node : voters.nodes()) {
      awaitRemedy(node, GIVE_A_MAJORITY);
    }

    first.stop();
    first.start("--recovery-key", key);
    awaitRemedy(first, GIVE_THE_OTHERS);
    assertTrue(Files.isDirectory(first.state().resolve("data/etcd")), "its volume is not open");
    for (TestNode node : voters.nodes()) {
      assertFalse(node.said().contains("HOME after"), "one node of three is HOME: " + node.said());
    }

    second.stop();
    second.start("--recovery-key", key);
    for (TestNode node : List.of(first, second, third)) {
      node.awaitHome();
    }
    assertFalse(third.said().contains("opening the data volume with the owner's"), third::said);
    isAsBefore("majority");
  }

  @Test
  @Tag("long")
  @DisplayName(
      "a cluster whose nodes all lost power comes back at once when each start gets the owner's recovery key")
  void each() throws Exception {
    voters.label(WITNESS, "each");
    TestNode.losePower(voters.nodes());
    for (TestNode node : voters.nodes()) {
      node.start("--recovery-key", key);
    }
    for (TestNode node : voters.nodes()) {
      node.awaitHome();
    }
    isAsBefore("each");
  }

  /** Requires the records, the voters and the health of the time before. */
  private static void isAsBefore(String value) throws Exception {
    voters.cluster().awaitLeader();
    for (String id : voters.byId().keySet()) {
      voters.cluster().awaitHealthy(id);
    }
    assertEquals(voters.byId().keySet(), voters.cluster().voters());
    assertEquals(
        value,
        voters
            .cluster()
            .listed(voters.cluster().firstId())
            .orElseThrow()
            .getAsJsonObject("labels")
            .get(WITNESS)
            .getAsString());
  }

  /** Requires the remedy on the screen of the node, and in what polisctl shows of it. */
  private static void awaitRemedy(TestNode node, String remedy) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "the screen of " + node.address() + " to name the remedy",
        () -> node.said().contains(remedy),
        node::said);
    AtomicReference<Finished> health = new AtomicReference<>();
    Await.until(
        TestNode.PATIENCE,
        "polisctl health of " + node.address() + " to name the remedy",
        () -> {
          health.set(node.ctl("health"));
          return health.get().code() == 5 && health.get().out().contains(remedy);
        },
        () -> health.get().all());
  }
}
