package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/**
 * Lets a cluster of three voters live without its first node, which leaves etcd and comes back, and
 * takes the vote of the third one. The leader's process is off in the end.
 */
final class FirstNodeLost {

  private static final String ROLE = GrowingCluster.CONSENSUS;

  /** A call waits so long where no leader is known. */
  private static final Duration ELECTION = Duration.ofSeconds(12);

  private final GrowingCluster cluster;
  private final TestNode first;
  private final TestNode second;
  private final TestNode third;
  private final String secondId;
  private final String thirdId;

  FirstNodeLost(ThreeVoters voters) {
    cluster = voters.cluster();
    List<String> ids = List.copyOf(voters.byId().keySet());
    secondId = ids.get(1);
    thirdId = ids.get(2);
    first = cluster.first();
    second = voters.byId().get(secondId);
    third = voters.byId().get(thirdId);
  }

  void run() throws Exception {
    Set<String> ids = memberIds();
    assertEquals(3, ids.size());
    eachNodeServesOperators();

    loseTheFirst();
    cluster.awaitLeader();
    cluster.awaitHealthy(secondId);
    cluster.awaitHealthy(thirdId);
    cluster.change("node", "role", "add", thirdId, "Backup");

    // The others start from their disks, and do not need the first one.
    second.stop();
    second.up();
    cluster.awaitLeader();
    cluster.awaitHealthy(secondId);
    assertEquals(ids, memberIds(), "a restart has made another member");

    refusesToLoseQuorum();
    removeTheFirst();
    firstComesBackWithoutItsOldData();
    cluster.loseVote(third, thirdId);
    cluster.awaitVoters(Set.of(cluster.firstId(), secondId));
    aNodeWithoutRecordsFindsTheNextLeader();
  }

  /** Runs each kind of command of the curator through each node, of which one leads. */
  private void eachNodeServesOperators() {
    for (String address : List.of(first.address(), second.address(), third.address())) {
      for (String command :
          List.of(
              "node list",
              "node describe " + thirdId,
              "node approve " + secondId,
              "node role add " + thirdId + " Backup",
              "node role remove " + thirdId + " Backup",
              "cluster info",
              "cluster ticket show",
              "cluster ticket replace",
              "cluster ticket revoke",
              "cert list",
              "plugin trust list",
              "takeownership",
              "owner rotate")) {
        servesAtOnce(address, command);
      }
    }
  }

  /** Runs a command through a node, within the time that a call waits where no leader is known. */
  private void servesAtOnce(String address, String command) {
    cluster.through(address);
    long began = System.nanoTime();
    Finished done = cluster.ctl(command.split(" "));
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    assertEquals(0, done.code(), () -> command + " through " + address + ": " + done.all());
    assertTrue(
        took.compareTo(ELECTION) < 0,
        () -> "%s through %s took %s".formatted(command, address, took));
  }

  /** Kills the first node as a loss of its machine does. */
  private void loseTheFirst() throws Exception {
    first.killJvm();
    first.killEtcd();
  }

  private void refusesToLoseQuorum() {
    Finished refused = cluster.ctl("node", "role", "remove", secondId, ROLE);
    assertNotEquals(0, refused.code(), refused.all());
    assertTrue(refused.err().contains("2 of 3 voters up"), refused.all());
    assertTrue(refused.err().contains(cluster.firstId() + " may go, no other may"), refused.all());
    assertEquals(3, cluster.voters().size(), "it has removed a voter");
  }

  private void removeTheFirst() throws Exception {
    cluster.change("node", "role", "remove", cluster.firstId(), "KubernetesController", ROLE);
    cluster.awaitVoters(Set.of(secondId, thirdId));
  }

  private void firstComesBackWithoutItsOldData() throws Exception {
    first.up();
    cluster.awaitHealthy(cluster.firstId());
    assertEquals(List.of(), first.children("etcd"), "it runs a member that etcd has removed");
    assertTrue(Files.isDirectory(first.state().resolve("data/etcd-removed")), "no data set aside");
    assertFalse(Files.exists(first.state().resolve("data/etcd/data/member")), "its data stayed");
    Set<String> before = memberIds();

    cluster.becomeVoter(first, cluster.firstId());
    assertEquals(3, cluster.voters().size());
    assertTrue(memberIds().containsAll(before));
  }

  /** Ends the leader's process alone, whose etcd lives on, so that the other voter leads. */
  private void aNodeWithoutRecordsFindsTheNextLeader() throws Exception {
    cluster.awaitLeader();
    boolean firstLeads = cluster.endpoint().equals(first.address());
    (firstLeads ? first : second).killJvm();
    String heir = (firstLeads ? second : first).address();
    await(
        "the other voter to lead",
        () -> cluster.leads(heir),
        () -> cluster.ctl("node", "list").all());
    cluster.awaitHealthy(thirdId);
    assertEquals(List.of(), third.children("etcd"), "it keeps records without the role");
  }

  private Set<String> memberIds() {
    return cluster.members().stream()
        .map(member -> GrowingCluster.text(member, "id"))
        .collect(Collectors.toSet());
  }

  private static void await(String what, Callable<Boolean> condition, Callable<?> seen)
      throws Exception {
    Await.until(TestNode.PATIENCE, what, condition, seen);
  }
}
