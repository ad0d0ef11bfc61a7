package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Finished;
import dev.polis.pki.CaBundle;
import dev.polis.pki.NodeCredentials;
import dev.polis.wire.storage.EnrolmentJournal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ends the leader or the node that a change concerns after each step of the change: a registration,
 * a commit, a join, a vote in etcd and its end, a removal, a revocation of a user's certificates or
 * of a node's, another owner's key, another CA. The same command then leads to the same end, and
 * the nodes and the members of etcd are those that the records name. A subclass says how a node
 * ends.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
abstract class MembershipCrashSuite {

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  private static final String VOTE = GrowingCluster.CONSENSUS;

  private static final String API = "dev.polis.curator.api.";
  private static final String RECORDS = "dev.polis.curator.record.";
  private static final String CONSENSUS = "dev.polis.consensus.";
  private static final String CLUSTER = "dev.polis.cluster.";
  private static final String FILE = "dev.polis.files.FilePlacement.";
  private static final String ENROLMENT = API + "NodeEnrolment.";
  private static final String JOIN = CLUSTER + "JoinFlow.clusterUnlockKey";
  private static final String DONE = "returned " + CLUSTER + "EnrolmentSteps.step ";
  private static final String REVOKED = "returned " + RECORDS + "CuratorPki.revokeNode";
  private static final String DISOWNED = "returned " + CLUSTER + "RemovalFile.write";
  private static final String AUTHORITY = "dev.polis.pki.PkiAuthority.";
  private static final String CA = API + "ClusterCaApi.";
  private static final String TRUST = CLUSTER + "LateRenewal.trust";
  private static final String SEALED = "returned dev.polis.storage.SealedConfigurationFile.write";

  /** A step of a change, by the beginning of a report of {@link CrashAgent}. */
  record Step(boolean ofLeader, String report) {

    static Step leader(String report) {
      return new Step(true, report);
    }

    static Step subject(String report) {
      return new Step(false, report);
    }

    String method() {
      return report.split(" ")[1];
    }
  }

  private static final List<Step> INTO_CLUSTER =
      Stream.concat(
              Stream.of(
                      "entered " + ENROLMENT + "register",
                      "entered " + RECORDS + "RecordStore.register",
                      "returned " + RECORDS + "RecordStore.register",
                      "returned " + ENROLMENT + "register",
                      "entered " + API + "ManagementApi.approved",
                      "returned " + API + "ManagementApi.approveNode",
                      "entered " + ENROLMENT + "commit",
                      "entered " + RECORDS + "CuratorPki.ensureNode",
                      "returned " + RECORDS + "CuratorPki.ensureNode",
                      "returned " + ENROLMENT + "commit")
                  .map(Step::leader),
              Stream.of(
                      "journal entry STEP_KEYS_GENERATED",
                      "registration",
                      "journal entry STEP_REGISTERED",
                      "data volume",
                      "journal entry STEP_VOLUME_CREATED",
                      "approval by an operator",
                      "journal entry STEP_COMMITTED",
                      "node credentials",
                      "journal entry STEP_CREDENTIALS_SAVED",
                      "sealed configuration",
                      "journal entry STEP_DONE",
                      "enrolment journal erased")
                  .map(step -> Step.subject(DONE + step)))
          .toList();

  private static final List<Step> AGAIN =
      List.of(
          Step.leader("entered " + ENROLMENT + "join"),
          Step.leader("returned " + ENROLMENT + "join"),
          Step.subject("entered " + JOIN),
          Step.subject("returned " + JOIN),
          Step.subject(DONE + "data volume"),
          Step.subject(DONE + "node credentials"));

  private static final List<Step> INTO_ETCD =
      List.of(
          Step.leader("entered " + API + "MembershipApi.joinConsensus"),
          Step.leader("entered " + CONSENSUS + "EtcdMembers.addLearner"),
          Step.leader("returned " + CONSENSUS + "EtcdMembers.addLearner"),
          Step.leader("entered " + CONSENSUS + "EtcdMembers.promote"),
          Step.leader("entered " + API + "MembershipApi.wire Voter"),
          Step.subject("entered " + CONSENSUS + "ConsensusDisk.recordInvitation"),
          Step.subject("entered " + CONSENSUS + "ConsensusPki.store"),
          Step.subject("returned " + CONSENSUS + "ConsensusDisk.recordInvitation"),
          Step.subject("entered " + CONSENSUS + "ConsensusRun.awaitVote"),
          Step.subject("returned " + CONSENSUS + "ConsensusRun.awaitVote"),
          Step.subject("returned " + CONSENSUS + "MemberSetup.complete"),
          Step.subject("entered dev.polis.curator.CuratorService.serve"));

  private static final List<Step> OUT_OF_ETCD =
      List.of(
          Step.leader("entered " + API + "MembershipApi.leaveConsensus"),
          Step.leader("entered " + CONSENSUS + "EtcdMembers.remove"),
          Step.leader("returned " + CONSENSUS + "EtcdMembers.remove"),
          Step.subject("entered dev.polis.roles.ConsensusRole.stepDown"),
          Step.subject("returned dev.polis.roles.ConsensusRole.stepDown"),
          Step.subject("entered " + CONSENSUS + "ConsensusService.discard"),
          Step.subject("entered " + CONSENSUS + "ConsensusDisk.setAside"),
          Step.subject("returned " + CONSENSUS + "ConsensusDisk.setAside"));

  private static final List<Step> OUT_OF_CLUSTER =
      List.of(
          Step.leader("entered " + API + "NodeRemoval.decommission"),
          Step.leader("entered " + RECORDS + "CuratorPki.revokeNode"),
          Step.leader(REVOKED),
          Step.leader("returned " + API + "NodeRemoval.decommission"),
          Step.subject("entered " + CLUSTER + "RemovalFile.write"),
          Step.subject(DISOWNED),
          Step.subject("returned " + FILE + "erase"));

  private static final List<Step> OUT_OF_RECORDS =
      List.of(
          Step.leader("entered " + API + "NodeRemoval.delete"),
          Step.leader("entered " + RECORDS + "RecordStore.deleteNode"),
          Step.leader("returned " + RECORDS + "RecordStore.deleteNode"));

  private static final List<Step> REVOCATION =
      List.of(
          Step.leader("entered " + RECORDS + "CuratorPki.revokeUser"),
          Step.leader("returned " + RECORDS + "CuratorPki.revokeUser"),
          Step.subject("entered " + CLUSTER + "RevocationFile.holds"));

  private static final List<Step> REVOCATION_OF_NODE =
      List.of(
          Step.leader("entered " + API + "CertificatesApi.revokeHolder"),
          Step.leader("entered " + API + "NodeRemoval.revoke"),
          Step.leader("entered " + RECORDS + "CuratorPki.revokeNode"),
          Step.leader(REVOKED),
          Step.leader("returned " + API + "CertificatesApi.revokeHolder"),
          Step.leader("returned " + API + "CertificatesApi.revokeCertificates"),
          Step.subject("entered " + CLUSTER + "RemovalFile.write"),
          Step.subject(DISOWNED),
          Step.subject("returned " + FILE + "erase"),
          Step.subject("returned " + CLUSTER + "Disowning.eraseKeys"));

  /** In their order: the rotation waits for each node before its next step. */
  private static final List<Step> ANOTHER_CA =
      List.of(
          Step.leader("entered " + CA + "rotateCa"),
          Step.leader("entered " + AUTHORITY + "prepareSuccessor"),
          Step.leader("returned " + AUTHORITY + "prepareSuccessor"),
          Step.subject("entered " + TRUST),
          Step.subject(SEALED),
          Step.subject("returned " + TRUST),
          Step.leader("entered " + AUTHORITY + "succeed"),
          Step.leader("returned " + AUTHORITY + "succeed"),
          Step.leader("returned " + CLUSTER + "LateRenewal.write"),
          Step.subject("entered " + CLUSTER + "CredentialRenewal.replace"),
          Step.subject("returned " + CLUSTER + "LateRenewal.write"),
          Step.subject("returned " + CLUSTER + "CredentialRenewal.replace"));

  private static final List<Step> ONE_CA =
      List.of(
          Step.leader("entered " + CA + "retireCa"),
          Step.leader("entered " + AUTHORITY + "retireFormer"),
          Step.leader("returned " + AUTHORITY + "retireFormer"),
          Step.leader("returned " + TRUST),
          Step.subject("entered " + CLUSTER + "RevocationFile.holds"),
          Step.subject("entered " + TRUST),
          Step.subject(SEALED),
          Step.subject("returned " + TRUST));

  private static final List<Step> ANOTHER_KEY =
      List.of(
          Step.leader("entered " + RECORDS + "CuratorPki.replaceUser"),
          Step.leader("returned " + RECORDS + "CuratorPki.replaceUser"),
          Step.subject("entered " + CLUSTER + "RevocationFile.holds"));

  @TempDir static Path directory;
  private static final Map<String, TestNode> VOTERS = new LinkedHashMap<>();

  /** All nodes that {@link #grow} has made, also when it has ended early. */
  private static final List<TestNode> GROWN = new ArrayList<>();

  private static Outage outage;
  private static String network;
  private static GrowingCluster cluster;
  private static TestNode third;
  private static String thirdId;
  private static int joined;

  static Random random() {
    System.out.printf("ends at steps of changes of the membership with -Dpolis.seed=%d%n", SEED);
    return new Random(SEED);
  }

  /** Grows a cluster whose nodes end this way, at addresses that begin so. */
  static void grow(Outage way, String addresses) throws Exception {
    outage = way;
    network = addresses;
    joined = 3;
    GROWN.clear();
    TestNode first = TestNode.member(outage.state("first"), network + 1, Mode.INSECURE);
    GROWN.add(first);
    outage.prepared(first);
    cluster = new GrowingCluster(directory, withAgent(first));
    VOTERS.clear();
    VOTERS.put(cluster.firstId(), cluster.first());
    TestNode second = grown("second", 2);
    VOTERS.put(cluster.admit(second), second);
    cluster.becomeVoter(second, List.copyOf(VOTERS.keySet()).getLast());
    third = grown("third", 3);
    thirdId = cluster.admit(third);
  }

  @AfterAll
  static void sweep() throws Exception {
    List<Throwable> failures = new ArrayList<>();
    for (TestNode node : GROWN.reversed()) {
      try {
        outage.remove(node);
      } catch (Exception | Error failed) {
        failures.add(failed);
      }
    }
    GROWN.clear();
    if (!failures.isEmpty()) {
      AssertionError stays = new AssertionError("a node stays behind", failures.getFirst());
      failures.stream().skip(1).forEach(stays::addSuppressed);
      throw stays;
    }
  }

  private static TestNode grown(String name, int host) throws Exception {
    TestNode node = joining(name, host);
    GROWN.add(node);
    return node;
  }

  static GrowingCluster cluster() {
    return cluster;
  }

  private static TestNode joining(String name, int host, String... options) throws Exception {
    TestNode node = cluster.joining(outage.state(name), network + host);
    outage.prepared(node);
    return withAgent(node, options);
  }

  private static TestNode withAgent(TestNode node, String... options) throws IOException {
    Set<String> methods = new TreeSet<>();
    Stream.of(
            INTO_CLUSTER,
            AGAIN,
            INTO_ETCD,
            OUT_OF_ETCD,
            OUT_OF_CLUSTER,
            OUT_OF_RECORDS,
            REVOCATION,
            REVOCATION_OF_NODE,
            ANOTHER_KEY,
            ANOTHER_CA,
            ONE_CA)
        .flatMap(List::stream)
        .forEach(step -> methods.add(step.method()));
    String agent = outage.agent(node, point(node), methods);
    return node.always(Stream.concat(Stream.of(agent), Stream.of(options)).toArray(String[]::new));
  }

  /** Returns the file that names the report at which a node ends. */
  private static Path point(TestNode node) {
    return directory.resolve(node.state().getFileName() + ".point");
  }

  private static void arm(TestNode node, Step step) throws IOException {
    Path begun = Files.writeString(point(node).resolveSibling("begun"), step.report());
    Files.move(begun, point(node), StandardCopyOption.ATOMIC_MOVE);
  }

  /**
   * Returns the steps at which nodes end in each change.
   *
   * @param usual a step of the leader and one of the other node that one change has, or none
   */
  abstract List<List<Step>> kills(List<Step> all, String... usual);

  /** Returns each step alone, so many times. */
  static List<List<Step>> alone(List<Step> all, int times) {
    List<List<Step>> kills = new ArrayList<>();
    for (int time = 0; time < times; time++) {
      all.forEach(step -> kills.add(List.of(step)));
    }
    return kills;
  }

  /**
   * Gives a command while nodes are to end at steps of it, starts them again, and gives the command
   * until it succeeds.
   */
  private static void change(List<Step> steps, TestNode subject, String... command)
      throws Exception {
    killAt(steps, subject, () -> cluster.ctl(command));
    cluster.change(command);
  }

  /** Does the same with a command that waits for all nodes, also for those that start again. */
  private static void changeMeanwhile(List<Step> steps, TestNode subject, String... command)
      throws Exception {
    killAt(steps, subject, () -> CompletableFuture.supplyAsync(() -> cluster.ctl(command)))
        .get(TestNode.PATIENCE.toSeconds() * 2, TimeUnit.SECONDS);
    cluster.change(command);
  }

  /** Makes one attempt of a change while nodes are to end at steps of it; returns its answer. */
  private static <T> T killAt(List<Step> steps, TestNode subject, Callable<T> attempt)
      throws Exception {
    cluster.awaitLeader();
    for (Step step : steps) {
      for (TestNode node : concerned(step, subject)) {
        arm(node, step);
      }
    }
    T answer = attempt.call();
    List<String> ended = Collections.synchronizedList(new ArrayList<>());
    for (Step step : steps) {
      Await.until(
          TestNode.PATIENCE,
          "the end of a node at: " + step.report(),
          () -> concerned(step, subject).stream().anyMatch(TestNode::hasEnded),
          () -> answer + "\n" + subject.said());
      for (TestNode node : concerned(step, subject)) {
        // A node that has removed its point ends now, perhaps as the second leader of this step.
        if (!Files.deleteIfExists(point(node))) {
          ended.add(again(node, step));
        }
      }
    }
    System.out.printf("ended: %s%n", ended);
    return answer;
  }

  /** Any of the voters may lead by the time of the step. */
  private static List<TestNode> concerned(Step step, TestNode subject) {
    return step.ofLeader() ? List.copyOf(VOTERS.values()) : List.of(subject);
  }

  private static String again(TestNode node, Step step) throws Exception {
    assertEquals(CrashAgent.KILLED, node.awaitEnd(), node::said);
    String extent = outage.ended(node);
    node.start();
    return "%s at %s, %s".formatted(node.address(), step.report(), extent);
  }

  /** Requires that etcd's members are the voters of the records, and the records those of nodes. */
  private static void requireSettled(Set<String> others, boolean thirdVotes) throws Exception {
    Set<String> votes = new TreeSet<>(VOTERS.keySet());
    Set<String> nodes = new TreeSet<>(others);
    nodes.addAll(votes);
    nodes.add(thirdId);
    if (thirdVotes) {
      votes.add(thirdId);
    }
    List<String> members = votes.stream().map(id -> id + " voter").toList();
    for (TestNode each : VOTERS.values()) {
      each.awaitHome();
    }
    third.awaitHome();
    Await.until(
        TestNode.PATIENCE,
        "nodes %s with members %s".formatted(nodes, members),
        () -> {
          cluster.awaitLeader();
          return members.equals(members())
              && nodes.equals(listed(false, ""))
              && votes.equals(listed(true, "rolesWanted"))
              && votes.equals(listed(true, "rolesRunning"));
        },
        () -> "%s %s".formatted(members(), cluster.rows("node", "list")));
    for (String id : VOTERS.keySet()) {
      cluster.awaitHealthy(id);
    }
    cluster.awaitHealthy(thirdId);
  }

  private static List<String> members() {
    return cluster.members().stream()
        .map(row -> GrowingCluster.text(row, "name") + " " + GrowingCluster.text(row, "role"))
        .sorted()
        .toList();
  }

  /** Returns the ids of all nodes, or of those with the role ConsensusMember in a column. */
  private static Set<String> listed(boolean voters, String column) {
    Set<String> ids = new TreeSet<>();
    for (JsonObject row : cluster.rows("node", "list")) {
      if (!voters || String.valueOf(row.get(column)).contains(VOTE)) {
        ids.add(GrowingCluster.text(row, "id"));
      }
    }
    return ids;
  }

  /** A change of the membership, in the words of a report of tests. */
  enum Change {
    VOTE("into etcd and out of it: a voter, then none, and no other member"),
    NODE(
        "into the cluster and out of it: one record, then none, and the removed node's keys are erased and open nothing"),
    REVOCATION("a revocation: the certificate is refused by each node"),
    REVOKED_NODE(
        "a revocation of a node: its keys are erased and open nothing, its record says so, no other node is touched"),
    CA(
        "a rotation of the CA: each node has a certificate of the new one and trusts it alone, and the former one's open nothing"),
    KEY("a rotation or a recovery: one other key is the owner's, and the former one opens nothing"),
    // The last one, since it leaves a member that is off.
    JOIN("a join: the member gets the key of its volume");

    private final String words;

    Change(String words) {
      this.words = words;
    }

    /** Returns those that {@code -Dpolis.changes=CA,NODE} names; without it the given ones. */
    static List<Change> chosen(List<Change> otherwise) {
      String chosen = System.getProperty("polis.changes");
      return chosen == null
          ? otherwise
          : Stream.of(chosen.split(",")).map(Change::valueOf).toList();
    }

    @Override
    public String toString() {
      return words;
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("changes")
  @Order(2)
  @DisplayName("ended at steps of a change, on either side")
  void changed(Change change) throws Exception {
    switch (change) {
      case VOTE -> intoEtcdAndOut();
      case NODE -> intoTheClusterAndOut();
      case REVOCATION -> revocation();
      case REVOKED_NODE -> revocationOfNode();
      case CA -> anotherCa();
      case KEY -> anotherOwnersKey();
      case JOIN -> intoTheClusterAgain();
    }
  }

  private void intoEtcdAndOut() throws Exception {
    List<List<Step>> in =
        kills(
            INTO_ETCD,
            "returned " + CONSENSUS + "EtcdMembers.addLearner",
            "returned " + CONSENSUS + "ConsensusRun.awaitVote");
    List<List<Step>> out =
        kills(
            OUT_OF_ETCD,
            "returned " + CONSENSUS + "EtcdMembers.remove",
            "entered " + CONSENSUS + "ConsensusDisk.setAside");
    for (int n = 0; n < Math.max(in.size(), out.size()); n++) {
      change(in.get(n % in.size()), third, "node", "role", "add", thirdId, VOTE);
      requireSettled(Set.of(), true);
      change(out.get(n % out.size()), third, "node", "role", "remove", thirdId, VOTE);
      requireSettled(Set.of(), false);
      Await.until(
          TestNode.PATIENCE,
          "no member on the disk of the node without the role",
          () ->
              third.children("etcd").isEmpty()
                  && !Files.exists(third.state().resolve("data/etcd/data/member")),
          third::said);
    }
  }

  private void intoTheClusterAndOut() throws Exception {
    List<List<Step>> joining = kills(INTO_CLUSTER, "returned " + RECORDS + "RecordStore.register");
    List<List<Step>> leaving = kills(OUT_OF_CLUSTER, REVOKED, DISOWNED);
    List<List<Step>> deletion = kills(OUT_OF_RECORDS);
    for (int n = 0; n < Math.max(joining.size(), leaving.size()); n++) {
      TestNode leaver = joining("leaver-" + ++joined, joined, "--security", Mode.INSECURE.option);
      try {
        String id = admit(leaver, joining.get(n % joining.size()));
        requireSettled(Set.of(id), false);
        RemovedNode removed = new RemovedNode(leaver);
        change(leaving.get(n % leaving.size()), leaver, "node", "decommission", id);
        requireSettled(Set.of(id), false);
        assertEquals(
            "DECOMMISSIONED", GrowingCluster.text(cluster.listed(id).orElseThrow(), "state"));
        isDisowned(leaver, id);
        killAt(deletion.get(n % deletion.size()), leaver, () -> cluster.ctl("node", "delete", id));
        Await.until(
            TestNode.PATIENCE,
            "no record of the deleted node",
            () -> {
              cluster.awaitLeader();
              return cluster.ctl("node", "delete", id).code() == 0 || cluster.listed(id).isEmpty();
            });
        requireSettled(Set.of(), false);
        isRefused(removed);
      } finally {
        outage.remove(leaver);
      }
    }
  }

  /** Requires that each node refuses the former keys at each of its ports. */
  private static void isRefused(RemovedNode former) throws Exception {
    for (TestNode node : all()) {
      former.isRefusedAtEachPort(node);
    }
  }

  /** Admits a node while nodes are to end at steps of it; returns the node's id. */
  private static String admit(TestNode node, List<Step> steps) throws Exception {
    killAt(
        steps,
        node,
        () -> {
          node.start();
          Await.until(
              TestNode.PATIENCE,
              "the node to wait for its approval, or the end of a node",
              () -> ended(node) || waits(node),
              node::said);
          return ended(node) ? node.said() : approve(Enrolment.journal(node)).all();
        });
    Await.until(
        TestNode.PATIENCE,
        "the approval of the node",
        () -> {
          cluster.awaitLeader();
          Optional<EnrolmentJournal> journal = Enrolment.journalIfAny(node);
          return journal.isEmpty()
              ? node.said().contains("HOME after")
              : waits(node) && approve(journal.get()).code() == 0;
        },
        node::said);
    node.awaitHome();
    String id = Enrolment.certified(node).text();
    cluster.awaitHealthy(id);
    return id;
  }

  private static boolean ended(TestNode node) {
    return node.hasEnded() || VOTERS.values().stream().anyMatch(TestNode::hasEnded);
  }

  private static boolean waits(TestNode node) {
    return node.said().contains("waiting for approval by an operator");
  }

  private static Finished approve(EnrolmentJournal journal) {
    return cluster.ctl("node", "approve", Enrolment.id(journal).text());
  }

  private void intoTheClusterAgain() throws Exception {
    Mode mode = Mode.AUTHENTICATED_ENCRYPTED;
    StorageModesIT.requireGround(mode);
    TestNode member = joining("encrypted", ++joined);
    try {
      String id = cluster.admit(member, mode);
      for (List<Step> steps : kills(AGAIN, "returned " + ENROLMENT + "join")) {
        TestNode.losePower(List.of(member));
        killAt(
            steps,
            member,
            () -> {
              member.start();
              return member.said();
            });
        member.awaitHome();
        requireSettled(Set.of(id), false);
        cluster.awaitHealthy(id);
        assertEquals(id, Enrolment.certified(member).text());
      }
    } finally {
      outage.remove(member);
    }
  }

  /** Waits until a removed node says so, and requires that it never starts again. */
  private static void isDisowned(TestNode node, String id) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "the removed node to say so, or to end",
        () ->
            node.said().contains("the cluster has removed " + id)
                && (node.said().contains("this node is DISOWNING") || node.hasEnded()),
        node::said);
    if (node.hasEnded()) {
      assertNotEquals(0, node.awaitEnd(), node::said);
    } else {
      node.stop();
    }
    Path credentials = node.state().resolve("data/node/credentials");
    assertFalse(Files.exists(credentials.resolve("cert-key.pem")), "its key is on the disk");
    assertFalse(Files.exists(credentials.resolve("cert.pem")), "its certificate is on the disk");
    Finished refused = node.refused();
    assertTrue(refused.lastLine().contains("the cluster has removed " + id), refused::all);
  }

  private static List<TestNode> all() {
    return Stream.concat(VOTERS.values().stream(), Stream.of(third)).toList();
  }

  private void revocation() throws Exception {
    List<List<Step>> kills = kills(REVOCATION, "returned " + RECORDS + "CuratorPki.revokeUser");
    for (int n = 0; n < kills.size(); n++) {
      String name = "alice-" + n;
      Person alice = Person.with(cluster.first(), directory.resolve(name), false);
      Path key = directory.resolve(name + ".pem");
      cluster.ctl("operator", "key", key.toString()).requireSuccess("key");
      cluster.change("operator", "add", name, "--key", key.toString(), "--role", "viewer");
      Await.until(
          TestNode.PATIENCE,
          "a certificate of " + name,
          () -> alice.ctl("operator", "take", name, "--key", key.toString()).code() == 0);
      change(kills.get(n), third, "cert", "revoke", "--user", name, "--force");
      requireSettled(Set.of(), false);
      alice.isRevoked();
      Finished again = alice.ctl("operator", "take", name);
      assertNotEquals(0, again.code(), again.all());
      assertEquals(Set.of("REVOKED"), Set.copyOf(certificates(name)));
    }
  }

  private void revocationOfNode() throws Exception {
    for (List<Step> steps : kills(REVOCATION_OF_NODE, REVOKED, DISOWNED)) {
      TestNode stolen = joining("stolen-" + ++joined, joined);
      try {
        String id = cluster.admit(stolen);
        RemovedNode former = new RemovedNode(stolen);
        change(steps, stolen, "cert", "revoke", "--node", id, "--force");
        requireSettled(Set.of(id), false);
        assertEquals(
            "DECOMMISSIONED", GrowingCluster.text(cluster.listed(id).orElseThrow(), "state"));
        assertEquals(Set.of("REVOKED"), Set.copyOf(certificates(id)));
        isDisowned(stolen, id);
        isRefused(former);
        cluster.change("node", "delete", id);
        requireSettled(Set.of(), false);
        isRefused(former);
      } finally {
        outage.remove(stolen);
      }
    }
  }

  private void anotherCa() throws Exception {
    List<List<Step>> rotation =
        kills(ANOTHER_CA, "returned " + AUTHORITY + "succeed", "returned " + TRUST);
    List<List<Step>> retirement =
        kills(ONE_CA, "returned " + AUTHORITY + "retireFormer", "entered " + TRUST);
    for (int n = 0; n < Math.max(rotation.size(), retirement.size()); n++) {
      NodeCredentials former = OwnerApi.nodeCredentials(third);
      changeMeanwhile(rotation.get(n % rotation.size()), third, "ca", "rotate");
      requireSettled(Set.of(), false);
      assertEquals("ISSUING", GrowingCluster.text(ca(), "step"));
      changeMeanwhile(retirement.get(n % retirement.size()), third, "ca", "retire");
      requireSettled(Set.of(), false);
      JsonObject one = ca();
      assertEquals("ONE", GrowingCluster.text(one, "step"));
      assertFalse(one.has("other"), one::toString);
      CaBundle present = OwnerApi.credentials(cluster.first()).ca();
      assertEquals(List.of(GrowingCluster.text(one, "issuing")), present.fingerprints());
      assertFalse(former.ca().sharesWith(present), "another CA");
      for (TestNode node : all()) {
        Await.until(
            TestNode.PATIENCE,
            node.address() + " to trust the new CA alone",
            () -> OwnerApi.nodeCredentials(node).ca().equals(present),
            node::said);
      }
      isRefused(
          new RemovedNode(
              third,
              former.trusting(new CaBundle(List.of(present.issuing(), former.ca().issuing())))));
    }
  }

  private static JsonObject ca() throws Exception {
    cluster.awaitLeader();
    return cluster.first().json("--endpoint", cluster.endpoint(), "ca", "status").getAsJsonObject();
  }

  private void anotherOwnersKey() throws Exception {
    List<List<Step>> kills = kills(ANOTHER_KEY, "returned " + RECORDS + "CuratorPki.replaceUser");
    int number = 0;
    for (List<Step> steps : kills) {
      anotherKey(
          number++ % 2 == 0 ? "rotate" : "recover",
          command -> killAt(steps, third, () -> cluster.ctl(command)));
    }
  }

  /** Gives a command that is interrupted. */
  @FunctionalInterface
  interface Interruption {
    void of(String... command) throws Exception;
  }

  static void anotherKey(String kind, Interruption interruption) throws Exception {
    Path owner = cluster.first().state().resolve("owner");
    List<String> before = certificates("owner");
    Person former =
        Person.with(cluster.first(), directory.resolve("former-" + before.size()), true);
    String recoveryKey = owner.resolve("recovery-key.pem").toString();
    String[] command =
        kind.equals("rotate")
            ? new String[] {"owner", "rotate"}
            : new String[] {"owner", "recover", "--recovery-key", recoveryKey};
    String was = Files.readString(owner.resolve("owner-key.pem"));
    interruption.of(command);
    if (Files.exists(owner.resolve("owner-key-next.pem"))) {
      repeat(command);
    }
    requireSettled(Set.of(), false);
    assertNotEquals(was, Files.readString(owner.resolve("owner-key.pem")));
    former.isRevoked();
    Finished again = former.ctl("takeownership");
    assertTrue(again.all().contains("this key is no longer the owner's"), again::all);
    // Those that a rotation of the CA has superseded had the former key, too.
    List<String> expected = new ArrayList<>(List.of("PRESENT"));
    expected.addAll(Collections.nCopies(before.size(), "REVOKED"));
    assertEquals(expected, certificates("owner"), "not one other key");
  }

  /** Gives the command until a leader accepts it, as an operator whose certificate is revoked. */
  private static void repeat(String... command) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "success of " + List.of(command),
        () ->
            VOTERS.values().stream()
                .anyMatch(
                    node -> {
                      cluster.through(node.address());
                      return cluster.ctl(command).code() == 0;
                    }),
        () -> cluster.ctl(command).all());
  }

  /** Returns the states of the certificates of a user, the newest first. */
  private static List<String> certificates(String user) throws Exception {
    cluster.awaitLeader();
    return cluster.rows("cert", "list").stream()
        .filter(row -> GrowingCluster.text(row, "holder").equals(user))
        .map(row -> GrowingCluster.text(row, "state"))
        .toList();
  }

  /** Runs polisctl with credentials of its own. */
  private record Person(TestNode folder) {

    /**
     * @param owner true to copy the owner's present key and certificate
     */
    static Person with(TestNode first, Path state, boolean owner) throws IOException {
      Path own = Files.createDirectories(state.resolve("owner"));
      for (String file :
          owner ? List.of("owner-key.pem", "owner.pem", "ca.pem") : List.of("ca.pem")) {
        Files.copy(first.state().resolve("owner").resolve(file), own.resolve(file));
      }
      return new Person(TestNode.bare(state, network + 1));
    }

    Finished ctl(String... arguments) {
      return through(cluster.endpoint(), arguments);
    }

    private Finished through(String address, String... arguments) {
      List<String> line = new ArrayList<>(List.of("--endpoint", address));
      line.addAll(List.of(arguments));
      return folder.ctl(line.toArray(String[]::new));
    }

    /** Waits until each node refuses the certificate. */
    void isRevoked() throws Exception {
      for (TestNode node : all()) {
        Await.until(
            TestNode.PATIENCE,
            node.address() + " to refuse the revoked certificate",
            () -> through(node.address(), "node", "list").all().contains("was revoked"),
            () -> through(node.address(), "node", "list").all());
      }
    }
  }
}
