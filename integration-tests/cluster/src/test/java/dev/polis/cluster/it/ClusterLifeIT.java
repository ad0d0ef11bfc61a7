package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Leads a cluster of machines through its life, from its bootstrap to the loss of all their power
 * and beyond, with data volumes of each protection.
 */
@Tag("full")
@Tag("longer")
class ClusterLifeIT {

  /** The machines at the beginning; two more come before the loss of power, and one after it. */
  private static final int FIRST = 3;

  private static final int ALL = 6;

  /** The writes and reads between two moves of the records; the clients make more meanwhile. */
  private static final int ENOUGH = 20;

  /** What a list of nodes says of a moment. */
  private static final Set<String> MOMENTARY =
      Set.of("health", "heartbeat", "rolesRunning", "labels");

  @TempDir Path directory;

  private final List<AutoCloseable> opened = new ArrayList<>();

  /** One by turns in the short form. */
  static List<Mode> modes() {
    return Slice.of(List.of(Mode.values()), Mode.values().length);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("modes")
  // A machine with ten times as many runnable threads as cores needed 13 minutes.
  @Timeout(value = 25, unit = TimeUnit.MINUTES)
  @DisplayName(
      "a cluster lives: the records move around its three members; one is decommissioned, one is deleted as lost, and both are refused; two more join, all lose their power at once, and come back with each acknowledged write; another one joins")
  void lives(Mode mode) throws Exception {
    Needs.root("a network of namespaces");
    StorageModesIT.requireGround(mode);
    SwitchedNetwork network = SwitchedNetwork.of(ALL);
    opened.add(network);
    ThreeVoters nodes =
        new ThreeVoters(directory, SwitchedNetwork.addresses(FIRST), mode)
            .placed(network::placed)
            .bootstrapped();
    opened.add(nodes);
    new Life(nodes, mode, directory.resolve("safe.pem").toString()).run();
  }

  /** Clears all away, also after a test that was interrupted, which could not do so itself. */
  @AfterEach
  void sweep() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  /** Holds what the steps of one life share. */
  private record Life(ThreeVoters nodes, Mode mode, String key) {

    void run() throws Exception {
      nodes.found();
      if (mode.encrypted()) {
        // As the first hour of the handbook does, before other nodes join.
        first().ctlThere("recovery-key", "move", key).requireSuccess("the key is not moved");
      }
      nodes.join();
      List<String> ids = List.copyOf(nodes.byId().keySet());
      recordsMoveAround(ids);
      RemovedNode decommissioned = decommission(ids.get(1));
      RemovedNode lost = deleteAsLost(ids.get(2));

      nodes.join(List.of(SwitchedNetwork.address(4), SwitchedNetwork.address(5)));
      nodes.vote();
      requireMembers();
      if (mode.encrypted()) {
        requireOneKey();
      }
      loseAllPower();
      for (RemovedNode each : List.of(decommissioned, lost)) {
        for (TestNode member : nodes.nodes()) {
          each.isRefusedAtEachPort(member);
        }
      }

      nodes.join(List.of(SwitchedNetwork.address(ALL)));
      requireMembers();
    }

    private GrowingCluster cluster() {
      return nodes.cluster();
    }

    private TestNode first() {
      return cluster().first();
    }

    /** Lets each node in turn become the only one that keeps the records, the first one last. */
    private void recordsMoveAround(List<String> ids) throws Exception {
      requireMembers();
      // This role needs the records on its own node.
      cluster().change("node", "role", "remove", ids.getFirst(), "KubernetesController");
      try (FailoverClients clients = nodes.clients()) {
        for (int at = 0; at < ids.size(); at++) {
          clients.awaitProgress(ENOUGH, "before the records move");
          String from = ids.get(at);
          String to = ids.get((at + 1) % ids.size());
          cluster().becomeVoter(nodes.byId().get(to), to);
          cluster().awaitVoters(Set.of(from, to));
          cluster().loseVote(nodes.byId().get(from), from);
          cluster().awaitVoters(Set.of(to));
        }
        clients.awaitProgress(ENOUGH, "after the records have moved around");
        ThreeVoters.check(clients, "the records moved around");
      }
      requireMembers();
    }

    private RemovedNode decommission(String id) throws Exception {
      RemovedNode removed = new RemovedNode(nodes.leave(id));
      cluster().ctl("node", "decommission", id).requireSuccess("decommission");
      assertEquals("DECOMMISSIONED", state(id));
      removed.saysSo();
      removed.isRefusedAtEachPort(first());
      removed.node().stop();
      isRefusedAtItsStart(removed, "the cluster has removed " + id);
      assertEquals("DECOMMISSIONED", state(id));
      return removed;
    }

    /** Deletes a node whose machine is gone, which comes back later. */
    private RemovedNode deleteAsLost(String id) throws Exception {
      RemovedNode lost = new RemovedNode(nodes.leave(id));
      TestNode.losePower(List.of(lost.node()));
      TreeMap<String, String> before = records();
      Finished early = cluster().ctl("node", "delete", id);
      assertNotEquals(0, early.code(), early.all());
      assertTrue(early.err().contains("--bypass-not-decommissioned"), early.all());
      assertEquals(before, records());

      cluster()
          .ctl("node", "delete", id, "--bypass-not-decommissioned")
          .requireSuccess("delete a lost machine");
      assertEquals(Optional.empty(), cluster().listed(id));
      lost.isRefusedAtEachPort(first());
      if (mode.encrypted()) {
        // Without the cluster's half of its key it does not know its own id.
        isRefusedAtItsStart(lost, "the cluster has removed the node");
        isRefusedAtItsStart(lost, "the cluster has removed " + id, "--recovery-key", key);
      } else {
        isRefusedAtItsStart(lost, "the cluster has removed " + id);
      }
      return lost;
    }

    /** Requires that a start is refused, now and again, and changes no record. */
    private void isRefusedAtItsStart(RemovedNode node, String reason, String... options)
        throws Exception {
      TreeMap<String, String> before = records();
      node.doesNotComeBack(reason, options);
      node.doesNotComeBack(reason);
      assertEquals(before, records());
      requireMembers();
    }

    private void loseAllPower() throws Exception {
      TreeMap<String, String> before = records();
      List<TestNode> all = nodes.nodes();
      cluster().awaitVoters(nodes.byId().keySet());
      // Each further way to come back takes half a minute.
      List<Boolean> ways = mode.encrypted() && Tier.isLong() ? List.of(true, false) : List.of(true);
      for (boolean majority : ways) {
        try (OwnerApi owner = nodes.through(first())) {
          SteadyWriter writer = SteadyWriter.of(owner, cluster().firstId());
          try (writer) {
            writer.awaitMore("before all nodes lose their power");
            TestNode.losePower(all);
          }
          if (!mode.encrypted()) {
            ColdStart.each(all);
          } else if (majority) {
            ColdStart.majority(all, key);
          } else {
            ColdStart.each(all, "--recovery-key", key);
          }
          requireMembers();
          cluster().awaitVoters(nodes.byId().keySet());
          assertEquals(before, records());
          long kept =
              cluster()
                  .listed(cluster().firstId())
                  .orElseThrow()
                  .getAsJsonObject("labels")
                  .get("steady-writer")
                  .getAsLong();
          // The last call may have had its effect without an answer.
          long acknowledged = writer.acknowledged();
          assertTrue(kept >= acknowledged, kept + " is there of " + acknowledged);
        }
      }
    }

    /** Requires that the members are UP, with the wanted protection of their volumes. */
    private void requireMembers() throws Exception {
      cluster().awaitLeader();
      for (String id : nodes.byId().keySet()) {
        cluster().awaitHealthy(id);
        assertEquals(
            mode.name(), GrowingCluster.text(cluster().listed(id).orElseThrow(), "storage"));
      }
    }

    private void requireOneKey() throws Exception {
      for (TestNode node : nodes.nodes()) {
        node.ctlThere("recovery-key", "check", key)
            .requireSuccess("the key of the cluster does not open " + node.address());
        assertFalse(
            Files.exists(node.state().resolve("owner/recovery-key.pem")),
            "another recovery key was made beside the volume of " + node.address());
      }
    }

    private String state(String id) {
      return GrowingCluster.text(cluster().listed(id).orElseThrow(), "state");
    }

    /** Returns what the cluster keeps of each node, and of each member of etcd. */
    private TreeMap<String, String> records() {
      TreeMap<String, String> records = new TreeMap<>();
      for (JsonObject row : cluster().rows("node", "list")) {
        MOMENTARY.forEach(row::remove);
        records.put(GrowingCluster.text(row, "id"), row.toString());
      }
      records.put(
          "etcd",
          cluster().members().stream()
              .map(member -> GrowingCluster.text(member, "id"))
              .sorted()
              .collect(Collectors.joining(" ")));
      return records;
    }
  }
}
