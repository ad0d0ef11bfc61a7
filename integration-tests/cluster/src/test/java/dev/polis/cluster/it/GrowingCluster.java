package dev.polis.cluster.it;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.ctl.session.Session;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** Lets further nodes join the cluster of a first one, as its operator does. */
final class GrowingCluster implements AutoCloseable {

  /** The role that makes a node a voter of etcd. */
  static final String CONSENSUS = "ConsensusMember";

  /** A node knows its leader, or that it knows none, at once. */
  private static final Duration ANSWER = Duration.ofSeconds(2);

  private static final Pattern APPROVAL =
      Pattern.compile("polisctl (node approve \\S+ --key \\S+)");

  private final Path directory;
  private final TestNode first;
  private final String firstId;
  private final List<String> addresses = new ArrayList<>();
  private volatile String endpoint;

  /** Founds a cluster with one node at this address. */
  GrowingCluster(Path directory, String address) throws Exception {
    this(directory, TestNode.member(directory.resolve("first"), address, Mode.INSECURE));
  }

  /** Begins with a stopped node that is the only one of its cluster. */
  GrowingCluster(Path directory, TestNode founder) throws Exception {
    String address = founder.address();
    this.directory = directory;
    this.endpoint = address;
    addresses.add(address);
    first = founder;
    first.up();
    first.takeOwnership();
    // While it is the only one that is listed.
    firstId = first.id();
    Await.until(
        TestNode.PATIENCE,
        "the first node to report its address",
        () -> listed(firstId).filter(node -> text(node, "address").equals(address)).isPresent());
  }

  TestNode first() {
    return first;
  }

  String firstId() {
    return firstId;
  }

  /** Sends the operator's later commands to the node at this address. */
  void through(String address) {
    endpoint = address;
  }

  /** Returns the address of the node to which the operator's commands go. */
  String endpoint() {
    return endpoint;
  }

  /** Waits until one of the nodes leads, and sends the operator's later commands there. */
  void awaitLeader() throws Exception {
    List<String> likely = new ArrayList<>(List.of(endpoint));
    likely.addAll(addresses.reversed());
    Await.until(
        TestNode.PATIENCE,
        "a curator to lead",
        () -> likely.stream().anyMatch(this::leads),
        () -> ctl("node", "list").all());
  }

  /**
   * Returns whether the node at this address leads and has the records; later commands go there.
   * The command line alone does not tell: it asks the leader that the node names.
   */
  boolean leads(String address) {
    through(address);
    return namesItself(address) && ctl("node", "list").code() == 0;
  }

  private static boolean namesItself(String address) {
    return leaderNamedAt(new InetSocketAddress(address, Session.CURATOR_PORT))
        .filter(answer -> answer.getLeaderNodeId().equals(answer.getThisNodeId()))
        .isPresent();
  }

  /** Returns the leader that a curator names; empty if it knows none or does not answer. */
  static Optional<GetCurrentLeaderResponse> leaderNamedAt(InetSocketAddress curator) {
    ManagedChannel channel = RpcClients.anonymous(RpcTrust.anybody()).dial(curator);
    BlockingClientCall<?, GetCurrentLeaderResponse> answers =
        CuratorLocalGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(ANSWER.toMillis(), TimeUnit.MILLISECONDS)
            .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance());
    try {
      return Optional.ofNullable(answers.read());
    } catch (StatusException knowsNone) {
      return Optional.empty();
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } finally {
      BlockingStreams.end(answers, "answered");
      channel.shutdownNow();
    }
  }

  /**
   * Makes a change at the leader, and again if the leadership ended meanwhile on a busy machine.
   */
  void change(String... arguments) throws Exception {
    AtomicReference<Finished> last = new AtomicReference<>();
    Await.until(
        TestNode.PATIENCE,
        "a leader to accept " + List.of(arguments),
        () -> {
          awaitLeader();
          last.set(ctl(arguments));
          return last.get().code() == 0;
        },
        () -> last.get().all());
  }

  /** Runs the operator's command line. */
  Finished ctl(String... arguments) {
    List<String> line = new ArrayList<>(List.of("--endpoint", endpoint));
    line.addAll(List.of(arguments));
    return first.ctl(line.toArray(String[]::new));
  }

  /**
   * Runs the operator's command line and returns the rows of its answer; none if the node cannot
   * answer now.
   */
  List<JsonObject> rows(String... arguments) {
    List<String> line = new ArrayList<>(List.of(arguments));
    line.addAll(List.of("-o", "json"));
    Finished answer = ctl(line.toArray(String[]::new));
    if (answer.code() != 0) {
      return List.of();
    }
    return StreamSupport.stream(
            JsonParser.parseString(answer.out()).getAsJsonArray().spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .toList();
  }

  /** Makes a node with the parameters that the operator makes for one that joins. */
  TestNode joining(String name, String address) throws Exception {
    return joining(directory.resolve(name), address);
  }

  /** Makes the same in a state directory elsewhere. */
  TestNode joining(Path state, String address) throws Exception {
    TestNode node = TestNode.bare(state, address);
    ctl(
            "params",
            "make",
            "--register",
            "--owner",
            first.state().resolve("owner").toString(),
            "--to",
            node.state().resolve("esp/parameters.json").toString())
        .requireSuccess("no parameters");
    addresses.add(address);
    return node;
  }

  /** Starts a node that joins, approves it, and waits until it is healthy; returns its id. */
  String admit(TestNode node) throws Exception {
    return admit(node, Mode.INSECURE);
  }

  /** Does the same with a node whose data volume has this protection. */
  String admit(TestNode node, Mode mode) throws Exception {
    return admit(List.of(node), mode).getFirst();
  }

  /** Does the same with several nodes at once, and returns their ids. */
  List<String> admit(List<TestNode> nodes, Mode mode) throws Exception {
    for (TestNode node : nodes) {
      node.start(mode.options());
    }
    List<String> ids = new ArrayList<>();
    for (TestNode node : nodes) {
      ids.add(awaitRegistered(node));
    }
    for (TestNode node : nodes) {
      approve(node);
    }
    for (TestNode node : nodes) {
      node.awaitHome();
    }
    for (String id : ids) {
      awaitHealthy(id);
    }
    return ids;
  }

  /** Approves a node by the command that its screen shows, which names its key. */
  private void approve(TestNode node) {
    Matcher shown = APPROVAL.matcher(node.said());
    if (!shown.find()) {
      throw new AssertionError("no command approves the node: " + node.said());
    }
    ctl(shown.group(1).split(" ")).requireSuccess(shown.group());
  }

  /** Gives a node the role of a voter, and waits until it votes and runs the role. */
  void becomeVoter(TestNode joined, String id) throws Exception {
    change("node", "role", "add", id, CONSENSUS);
    Await.until(
        TestNode.PATIENCE,
        "node " + id + " to be a voter",
        () -> voters().contains(id),
        () -> members() + "\n" + joined.ctl("debug", "logs", "--dn", "root.roles").all());
    Await.until(
        TestNode.PATIENCE,
        "node " + id + " to run the role",
        () ->
            listed(id)
                .filter(node -> node.get("rolesRunning").toString().contains(CONSENSUS))
                .isPresent(),
        () -> listed(id));
  }

  /** Takes the role of a voter from a node, and waits until the node keeps no records. */
  void loseVote(TestNode node, String id) throws Exception {
    change("node", "role", "remove", id, CONSENSUS);
    Await.until(
        TestNode.PATIENCE,
        "node " + id + " to leave etcd",
        () -> {
          // The node may lead until it leaves.
          awaitLeader();
          Set<String> voters = voters();
          return !voters.isEmpty() && !voters.contains(id);
        },
        this::members);
    Await.until(
        TestNode.PATIENCE,
        "node " + id + " to end its etcd and to set its data aside",
        () ->
            node.children("etcd").isEmpty()
                && Files.isDirectory(node.state().resolve("data/etcd-removed")),
        node::said);
    awaitHealthy(id);
  }

  /** Returns the members of etcd. */
  List<JsonObject> members() {
    return rows("etcd", "members");
  }

  /** Returns the ids of the nodes whose members have a vote. */
  Set<String> voters() {
    return members().stream()
        .filter(member -> text(member, "role").equals("voter"))
        .map(member -> text(member, "name"))
        .collect(Collectors.toSet());
  }

  /** Waits until these nodes, and no others, have a vote. */
  void awaitVoters(Set<String> ids) throws Exception {
    Await.until(TestNode.PATIENCE, "the voters " + ids, () -> voters().equals(ids), this::members);
  }

  Optional<JsonObject> listed(String id) {
    return rows("node", "list").stream().filter(node -> text(node, "id").equals(id)).findFirst();
  }

  static String text(JsonObject row, String field) {
    return row.get(field).getAsString();
  }

  /** Waits until the node asks for its approval, and returns its id. */
  static String awaitRegistered(TestNode node) throws Exception {
    Path journal = Enrolment.journalFile(node);
    Await.until(
        TestNode.PATIENCE,
        "the node to wait for its approval",
        () -> Files.exists(journal) && node.said().contains("waiting for approval by an operator"),
        () -> "it said:\n" + node.said());
    return Enrolment.id(Enrolment.journal(node)).text();
  }

  void awaitHealthy(String id) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "node " + id + " to be listed as UP and healthy",
        () ->
            listed(id)
                .filter(
                    node ->
                        text(node, "state").equals("UP")
                            && text(node, "health").equals("HEALTHY")
                            && !text(node, "heartbeat").equals("never"))
                .isPresent(),
        () -> "it is listed as " + listed(id));
  }

  @Override
  public void close() {
    first.close();
  }
}
