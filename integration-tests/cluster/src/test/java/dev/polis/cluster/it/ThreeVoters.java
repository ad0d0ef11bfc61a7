package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.history.LinearizabilityChecker;
import dev.polis.fixtures.history.Verdict;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** Grows a cluster of three voters, and finds its leader for tests and their clients. */
final class ThreeVoters implements AutoCloseable {

  static final int CURATOR_PORT = 7835;

  private final Path directory;
  private final List<String> addresses;
  private final Mode mode;

  /** Keeps the nodes by their ids, the founder first. */
  private final Map<String, TestNode> nodes = new LinkedHashMap<>();

  private final List<TestNode> opened = new ArrayList<>();
  private GrowingCluster cluster;
  private RpcClients owner;
  private UnaryOperator<TestNode> place = UnaryOperator.identity();
  private boolean bootstraps;

  /** Names the nodes to grow, which have data volumes of one protection. */
  ThreeVoters(Path directory, List<String> addresses, Mode mode) {
    this.directory = directory;
    this.addresses = List.copyOf(addresses);
    this.mode = mode;
  }

  /** Starts each node in the place that this names. */
  ThreeVoters placed(UnaryOperator<TestNode> where) {
    place = where;
    return this;
  }

  /** Lets the first node bootstrap in its place, instead of a copy that was bootstrapped before. */
  ThreeVoters bootstrapped() {
    bootstraps = true;
    return this;
  }

  /** Founds the cluster. */
  void found() throws Exception {
    Path first = directory.resolve("first");
    TestNode founder =
        bootstraps
            ? TestNode.bootstrapping(first, addresses.getFirst(), mode)
            : TestNode.member(first, addresses.getFirst(), mode);
    opened.add(founder);
    cluster = new GrowingCluster(directory, place.apply(founder));
    nodes.put(cluster.firstId(), founder);
    owner = OwnerApi.clients(founder);
  }

  /** Lets the other nodes join; {@link #vote} makes them voters. */
  void join() throws Exception {
    join(addresses.subList(1, addresses.size()));
  }

  /** Lets further nodes join. */
  void join(List<String> more) throws Exception {
    List<TestNode> joining = new ArrayList<>();
    for (String address : more) {
      TestNode node = place.apply(cluster.joining("node-" + address, address));
      opened.add(node);
      joining.add(node);
    }
    List<String> ids = cluster.admit(joining, mode);
    for (int n = 0; n < ids.size(); n++) {
      nodes.put(ids.get(n), joining.get(n));
    }
  }

  /** Forgets a node that leaves the cluster, and returns it. */
  TestNode leave(String id) {
    return nodes.remove(id);
  }

  /** Gives all nodes a vote. */
  void vote() throws Exception {
    for (String id : List.copyOf(nodes.keySet()).subList(1, nodes.size())) {
      cluster.becomeVoter(nodes.get(id), id);
    }
  }

  /** Returns the calls of the owner, and of one node, that go to the leader through that node. */
  OwnerApi through(TestNode node) throws Exception {
    return OwnerApi.through(nodes.values().iterator().next(), node);
  }

  GrowingCluster cluster() {
    return cluster;
  }

  /** Returns the nodes by their ids, the founder first. */
  Map<String, TestNode> byId() {
    return nodes;
  }

  List<TestNode> nodes() {
    return List.copyOf(nodes.values());
  }

  /** Returns all nodes but one. */
  List<TestNode> without(TestNode one) {
    return nodes.values().stream().filter(node -> node != one).toList();
  }

  TestNode at(InetSocketAddress curator) {
    return nodes.values().stream()
        .filter(node -> node.address().equals(curator.getAddress().getHostAddress()))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no node is at " + curator));
  }

  static InetSocketAddress curator(TestNode node) {
    return new InetSocketAddress(node.address(), CURATOR_PORT);
  }

  /** Waits until as many curators name the leader. */
  void awaitCandidates(int number) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        number + " curators to name the leader",
        () ->
            nodes.values().stream()
                    .filter(node -> GrowingCluster.leaderNamedAt(curator(node)).isPresent())
                    .count()
                == number);
  }

  /** Sets a label of the founder, through the leader. */
  void label(String key, String value) throws Exception {
    cluster.awaitLeader();
    ManagedChannel channel = owner.dial(new InetSocketAddress(cluster.endpoint(), CURATOR_PORT));
    try {
      ManagementGrpc.newBlockingV2Stub(channel)
          .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
          .updateNodeLabels(
              UpdateNodeLabelsRequest.newBuilder()
                  .setId(cluster.firstId())
                  .addUpsert(UpdateNodeLabelsRequest.Pair.newBuilder().setKey(key).setValue(value))
                  .build());
    } finally {
      channel.shutdownNow();
    }
  }

  /** Starts writers and readers over all curators. */
  FailoverClients clients() {
    return new FailoverClients(owner, curators(), nodes.keySet().iterator().next());
  }

  /** Starts writers of changes that count, over all curators. */
  CountedWriters countedWriters() {
    return new CountedWriters(owner, curators());
  }

  private List<NodeEndpoint> curators() {
    return nodes.entrySet().stream()
        .map(node -> new NodeEndpoint(NodeId.parse(node.getKey()), curator(node.getValue())))
        .toList();
  }

  /** Ends the clients, and requires that their history is linearizable. */
  static void check(FailoverClients clients, String after) throws Exception {
    String summary = clients.toString();
    Verdict verdict = LinearizabilityChecker.check(clients.settle());
    assertInstanceOf(
        Verdict.Linearizable.class, verdict, () -> after + ": " + verdict + "; " + summary);
    System.out.println("linearizable after " + after + ": " + summary);
  }

  /** Describes times for people. */
  static String distribution(List<Duration> times) {
    if (times.isEmpty()) {
      return "none";
    }
    List<Duration> sorted = times.stream().sorted().toList();
    return "%d times, ms: least %d, half below %d, 99 of 100 below %d, most %d"
        .formatted(
            sorted.size(),
            sorted.getFirst().toMillis(),
            sorted.get(sorted.size() / 2).toMillis(),
            sorted.get((sorted.size() * 99 - 1) / 100).toMillis(),
            sorted.getLast().toMillis());
  }

  @Override
  public void close() {
    opened.reversed().forEach(TestNode::close);
  }
}
