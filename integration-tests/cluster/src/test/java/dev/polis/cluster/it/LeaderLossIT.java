package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kills the leading node of three voters again and again, under writers and readers over all nodes:
 * its process alone, and with its etcd, as the loss of the machine does. Then the first node
 * leaves.
 */
@Tag("full")
@Tag("longer")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class LeaderLossIT {

  private static final List<String> ADDRESSES = List.of("127.0.51.1", "127.0.51.2", "127.0.51.3");

  private static final int ROUNDS = Integer.getInteger("polis.times", Tier.pick(1, 1, 50));

  /** The promise for 99 of 100 losses. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  private static final int PROMISED_OF = 100;

  /** The writes and reads before and after a loss; the clients make more of them meanwhile. */
  private static final int ENOUGH = 30;

  @TempDir static Path directory;

  private static ThreeVoters voters;
  private final List<Loss> losses = new ArrayList<>();

  /**
   * Measures one loss.
   *
   * @param replaced the time to the next acknowledged write
   * @param elected the time to etcd's own new leader; empty if it kept its leader
   * @param allowed the promised time, as long as this machine may take for it
   */
  private record Loss(
      String kind, Duration replaced, Optional<Duration> elected, Duration allowed) {

    @Override
    public String toString() {
      return "%s: the next write after %d ms, %s"
          .formatted(
              kind,
              replaced.toMillis(),
              elected
                  .map(time -> "a leader of etcd after %d ms".formatted(time.toMillis()))
                  .orElse("etcd kept its leader"));
    }
  }

  @BeforeAll
  static void grow() throws Exception {
    voters = new ThreeVoters(directory, ADDRESSES, Mode.INSECURE);
    voters.found();
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
  @Order(1)
  @DisplayName(
      "CUR-02 a killed leader is replaced within 2 s; no acknowledged write is lost, no read is stale, and each change with an id is answered and made exactly once")
  void leadersAreKilled() throws Exception {
    for (int round = 1; round <= ROUNDS; round++) {
      voters.awaitCandidates(ADDRESSES.size());
      Map<String, Long> before = versions();
      try (CountedWriters writers = voters.countedWriters()) {
        stopForAWhile();
        voters.awaitCandidates(ADDRESSES.size());
        TestNode first = lose("the process of the leader", false);
        writers.awaitProgress(ENOUGH, "after the loss of a process");
        voters.awaitCandidates(ADDRESSES.size() - 1);
        TestNode second = lose("the machine of the leader", true);
        writers.awaitProgress(ENOUGH, "after the loss of a machine");
        requireMadeOnce(writers, before);
        comeBack(first, second);
      }
    }
    report();
  }

  @Test
  // The last one, since it takes a vote and leaves a node off.
  @Order(2)
  @DisplayName("CON-04 and D-13: three voters live without the first, which leaves and comes back")
  void votersLiveWithoutTheFirst() throws Exception {
    new FirstNodeLost(voters).run();
  }

  private void requireMadeOnce(CountedWriters writers, Map<String, Long> before) throws Exception {
    Map<String, Long> made = writers.settle();
    assertEquals(List.of(), writers.refused(), writers::toString);
    Map<String, Long> after = versions();
    after.replaceAll((record, version) -> version - before.getOrDefault(record, 0L));
    assertEquals(made, after, writers::toString);
    System.out.println("made once: " + writers);
  }

  /** Returns how often etcd has written each record of the writers. */
  private Map<String, Long> versions() throws Exception {
    voters.cluster().awaitLeader();
    String all = run(etcdctl("get", "", "--prefix", "-w", "json"));
    Map<String, Long> versions = new HashMap<>();
    for (JsonElement each : JsonParser.parseString(all).getAsJsonObject().getAsJsonArray("kvs")) {
      JsonObject entry = each.getAsJsonObject();
      CountedWriters.RECORDS.stream()
          .filter(key(entry)::endsWith)
          .forEach(record -> versions.put(record, entry.get("version").getAsLong()));
    }
    return versions;
  }

  private static String key(JsonObject entry) {
    return new String(
        Base64.getDecoder().decode(entry.get("key").getAsString()), StandardCharsets.UTF_8);
  }

  private TestNode lose(String kind, boolean machine) throws Exception {
    try (FailoverClients clients = voters.clients()) {
      clients.awaitProgress(ENOUGH, "before the loss of " + kind);
      TestNode leader = machine ? leadEverything(clients) : voters.at(clients.leader());
      MachineSpeed speed = MachineSpeed.measure();
      Instant killed = Instant.now();
      long since = System.nanoTime();
      kill(leader, machine);
      Duration replaced = clients.awaitWriteSince(since, "after the loss of " + kind);
      Duration allowed = speed.allowed(PROMISED);
      losses.add(new Loss(kind, replaced, elected(killed), allowed));
      clients.awaitProgress(ENOUGH, "after the loss of " + kind);
      System.out.println(losses.getLast());
      ThreeVoters.check(clients, "the loss of " + kind);
      return leader;
    }
  }

  /**
   * Stops the leader's process until another one leads, and lets it continue with reads that it
   * gets first. Its port accepts connections meanwhile, so its lease decides.
   */
  private void stopForAWhile() throws Exception {
    try (FailoverClients clients = voters.clients()) {
      clients.awaitProgress(ENOUGH, "before the leader is stopped");
      InetSocketAddress curator = clients.leader();
      TestNode leader = voters.at(curator);
      leader.signalJvm("STOP");
      long since = System.nanoTime();
      try {
        Duration replaced = clients.awaitWriteSince(since, "while the leader is stopped");
        System.out.printf(
            "a leader that was stopped, not ended: the next write after %d ms%n",
            replaced.toMillis());
        clients.queueReads(curator);
        clients.awaitProgress(ENOUGH, "while the former leader is stopped");
      } finally {
        leader.signalJvm("CONT");
      }
      clients.awaitProgress(ENOUGH, "after the former leader has continued");
      ThreeVoters.check(clients, "a stop of the leader");
    }
  }

  /**
   * Makes one node lead both etcd and the curators. The curators may elect another leader when etcd
   * gets one.
   */
  private TestNode leadEverything(FailoverClients clients) throws Exception {
    AtomicReference<TestNode> leader = new AtomicReference<>();
    Await.until(
        TestNode.PATIENCE,
        "one node to lead etcd and the curators",
        () -> {
          leader.set(voters.at(clients.leader()));
          leadEtcdAt(leader.get());
          clients.awaitProgress(ENOUGH, "with etcd's leader on the same node");
          return voters.at(clients.leader()) == leader.get() && leadsEtcd(leader.get());
        });
    return leader.get();
  }

  private boolean leadsEtcd(TestNode node) throws Exception {
    String wanted = memberId(node);
    return etcdStatus().stream().anyMatch(member -> member.leads() && member.id().equals(wanted));
  }

  /** Makes the etcd of a node the leader of etcd, so that both leaders are lost together. */
  private void leadEtcdAt(TestNode node) throws Exception {
    voters.cluster().through(node.address());
    String wanted = memberId(node);
    for (EtcdStatus member : etcdStatus()) {
      if (member.leads() && !member.id().equals(wanted)) {
        List<String> move = etcdctl("move-leader", wanted);
        move.replaceAll(
            part -> part.startsWith("--endpoints=") ? "--endpoints=" + member.endpoint() : part);
        run(move);
      }
    }
  }

  /** Holds what one member of etcd says of itself. */
  private record EtcdStatus(String id, String endpoint, boolean leads) {}

  private List<EtcdStatus> etcdStatus() throws Exception {
    List<String> all = etcdctl("endpoint", "status", "--cluster", "-w", "json");
    return JsonParser.parseString(run(all)).getAsJsonArray().asList().stream()
        .map(JsonElement::getAsJsonObject)
        .map(
            each -> {
              JsonObject status = each.getAsJsonObject("Status");
              long id = status.getAsJsonObject("header").get("member_id").getAsLong();
              return new EtcdStatus(
                  Long.toHexString(id),
                  each.get("Endpoint").getAsString(),
                  status.get("leader").getAsLong() == id);
            })
        .toList();
  }

  private String memberId(TestNode node) {
    return voters.cluster().members().stream()
        .filter(member -> voters.byId().get(GrowingCluster.text(member, "name")) == node)
        .map(member -> GrowingCluster.text(member, "id"))
        .findFirst()
        .orElseThrow(() -> new AssertionError("etcd has no member at " + node.address()));
  }

  /** Returns the command line that the operator gets, with another command. */
  private List<String> etcdctl(String... command) throws Exception {
    List<String> line =
        new ArrayList<>(
            Arrays.asList(
                GrowingCluster.text(voters.cluster().rows("etcd", "status").getFirst(), "etcdctl")
                    .split(" ")));
    line.set(0, EtcdBinary.folder().resolve("etcdctl").toString());
    List<String> credentials = line.stream().takeWhile(part -> !part.equals("get")).toList();
    return new ArrayList<>(Stream.concat(credentials.stream(), Stream.of(command)).toList());
  }

  private static String run(List<String> command) throws Exception {
    return TestNode.finish(command, Map.of("ETCDCTL_API", "3"))
        .requireSuccess(String.join(" ", command))
        .out();
  }

  private static void kill(TestNode leader, boolean machine) throws Exception {
    List<ProcessHandle> etcd = machine ? leader.children("etcd") : List.of();
    etcd.forEach(ProcessHandle::destroyForcibly);
    leader.killJvm();
    if (machine) {
      // Another one, if the process has started it meanwhile.
      leader.killEtcd();
    }
  }

  /** Returns the time from a loss to etcd's next leader, by the log of the others. */
  private Optional<Duration> elected(Instant killed) throws IOException {
    List<Instant> elections = new ArrayList<>();
    for (TestNode node : voters.nodes()) {
      EtcdLog.of(node).firstAfter(killed, "elected leader").ifPresent(elections::add);
    }
    return elections.stream().min(Instant::compareTo).map(first -> Duration.between(killed, first));
  }

  private void comeBack(TestNode... lost) throws Exception {
    for (TestNode node : lost) {
      node.start();
    }
    for (TestNode node : lost) {
      node.awaitHome();
    }
  }

  /** Prints the distribution, and compares it with the promise. */
  private void report() {
    List<Duration> replaced = losses.stream().map(Loss::replaced).toList();
    List<Duration> elected = losses.stream().flatMap(loss -> loss.elected().stream()).toList();
    System.out.printf(
        "%d losses of a leader: the next write after %s; etcd's own elections %s%n",
        losses.size(), ThreeVoters.distribution(replaced), ThreeVoters.distribution(elected));
    List<Loss> late =
        losses.stream().filter(loss -> loss.replaced().compareTo(loss.allowed()) > 0).toList();
    assertTrue(
        late.size() <= losses.size() / PROMISED_OF,
        () ->
            "of %d losses %d took longer than %d ms, also for this machine's speed: %s"
                .formatted(losses.size(), late.size(), PROMISED.toMillis(), late));
  }
}
