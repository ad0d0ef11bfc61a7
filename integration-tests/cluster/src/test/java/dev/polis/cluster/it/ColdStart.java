package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import java.nio.file.Files;
import java.util.List;

/** Starts the nodes of a cluster that all lost power, the first two of which are voters. */
final class ColdStart {

  /** Names the remedy, as a node does that waits for its key. */
  private static final String GIVE_A_MAJORITY =
      "give a majority of them the owner's recovery key (on each polis down, then polis up --recovery-key FILE)";

  /** Names the remedy, as a voter does whose volume is open and that is alone. */
  private static final String GIVE_THE_OTHERS =
      "one that waits for the key of its volume needs the owner's recovery key, too (polis down, then polis up --recovery-key FILE)";

  private ColdStart() {}

  /** Gives each start these options. */
  static void each(List<TestNode> nodes, String... options) throws Exception {
    for (TestNode node : nodes) {
      node.start(options);
    }
    for (TestNode node : nodes) {
      node.awaitHome();
    }
  }

  /** Gives a majority of three the recovery key after all wait for theirs. */
  static void majority(List<TestNode> nodes, String key) throws Exception {
    for (TestNode node : nodes) {
      node.start();
    }
    for (TestNode node : nodes) {
      awaitRemedy(node, GIVE_A_MAJORITY);
    }

    TestNode first = nodes.get(0);
    first.stop();
    first.start("--recovery-key", key);
    awaitRemedy(first, GIVE_THE_OTHERS);
    assertTrue(Files.isDirectory(first.state().resolve("data/etcd")), "its volume is not open");
    for (TestNode node : nodes) {
      assertFalse(node.said().contains("HOME after"), "one node of three is HOME: " + node.said());
    }

    TestNode second = nodes.get(1);
    second.stop();
    second.start("--recovery-key", key);
    for (TestNode node : nodes) {
      node.awaitHome();
    }
    TestNode last = nodes.getLast();
    assertFalse(last.said().contains("opening the data volume with the owner's"), last::said);
  }

  /** Requires the remedy on the screen of the node, and in what polisctl shows of it. */
  private static void awaitRemedy(TestNode node, String remedy) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "the screen of " + node.address() + " to name the remedy",
        () -> node.said().contains(remedy),
        node::said);
    node.awaitHealthSays(remedy);
  }
}
