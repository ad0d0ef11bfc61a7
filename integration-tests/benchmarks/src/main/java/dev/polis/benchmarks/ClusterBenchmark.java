package dev.polis.benchmarks;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;

/**
 * Measures a cluster of three nodes on this machine, beside three members of bare etcd: its calls,
 * the loss of its leader, its memory, its start and its stop.
 */
final class ClusterBenchmark {

  private static final String LEADER = "cluster";
  private static final String FOLLOWER = "cluster, by a follower";
  private static final String ETCD_LEADER = "bare etcd's leader";
  private static final String ETCD_FOLLOWER = "bare etcd's follower";
  private static final String ETCD = "bare etcd";

  /** The writes before a loss, by which the client knows the leader. */
  private static final int BEFORE = 30;

  /** The limit of a call, which only a write that waits for a new leader exceeds. */
  private static final long CALL_MILLIS = 1000;

  /** Longer than a follower waits for its own election. */
  private static final long REFUSAL_SECONDS = 30;

  /** The promise for the loss of a leader. */
  private static final double PROMISED_SECONDS = 2;

  private final Report report;
  private final Settings settings;
  private final ClusterUnderTest cluster;
  private final EtcdUnderTest etcd;
  private final Log log = LogTree.create().log("benchmark");
  private final List<Long> up = new ArrayList<>();
  private final List<Long> down = new ArrayList<>();
  private final List<Long> etcdUp = new ArrayList<>();
  private final List<Long> etcdDown = new ArrayList<>();

  private ClusterBenchmark(
      Report report, Settings settings, ClusterUnderTest cluster, EtcdUnderTest etcd) {
    this.report = report;
    this.settings = settings;
    this.cluster = cluster;
    this.etcd = etcd;
  }

  static void run(Report report, Settings settings) throws Exception {
    Bench.progress("training the AOT cache of ./polis");
    ClusterUnderTest.train(settings);
    try (ClusterUnderTest cluster = ClusterUnderTest.fresh(settings);
        EtcdUnderTest etcd = EtcdUnderTest.fresh(settings)) {
      new ClusterBenchmark(report, settings, cluster, etcd).measure();
    }
  }

  private void measure() throws Exception {
    for (int round = 1; round < settings.clusters(); round++) {
      Bench.progress("a cluster from nothing, and its stop");
      up.add(cluster.up());
      List<String> arguments = cluster.etcdArguments();
      down.add(cluster.down());
      cluster.clear();
      etcdUp.add(etcd.up(arguments));
      etcdDown.add(etcd.down());
      etcd.clear();
    }
    Bench.progress("a cluster from nothing");
    up.add(cluster.up());
    etcdUp.add(etcd.up(cluster.etcdArguments()));
    cluster.awaitOneHeartbeat();
    IdleBenchmark.pass(settings.settle());
    memory();
    Bench.progress("calls of three nodes");
    calls();
    losses();
    Bench.progress("the stop of three nodes");
    etcdDown.add(etcd.down());
    down.add(cluster.down());
    startAndStop();
  }

  // ---- memory

  private void memory() throws IOException {
    double[] members = new double[ClusterUnderTest.NODES];
    for (int member = 0; member < members.length; member++) {
      members[member] = ProcessSample.of(etcd.pid(member)).mebibytes();
    }
    double bare = LongStream.range(0, members.length).mapToDouble(i -> members[(int) i]).sum();
    report.section("Three nodes at rest: memory");
    double all = 0;
    for (int number = 1; number <= ClusterUnderTest.NODES; number++) {
      double jvm = ProcessSample.of(cluster.pid(number)).mebibytes();
      double own = ProcessSample.of(EtcdProcess.of(cluster.state(number)).pid()).mebibytes();
      all += jvm + own;
      memory(
          "node %d: JVM %.0f and etcd %.0f MiB".formatted(number, jvm, own),
          jvm + own,
          "a member of bare etcd",
          bare / members.length);
    }
    memory("three nodes", all, "three members", bare);
    report.note(
        "%d s after the start (VmRSS). Bare etcd has the same options, TLS included, and no records yet."
            .formatted(settings.settle().toSeconds()));
  }

  private void memory(String what, double mebibytes, String than, double baseline) {
    report.row(
        what,
        Report.number("%.0f MiB", mebibytes),
        Report.number("%s: %.0f MiB", than, baseline),
        mebibytes / baseline,
        Aim.NONE);
  }

  // ---- calls

  private void calls() throws Exception {
    try (EtcdClient all = etcd.client(etcd.endpoints())) {
      int leading = etcdLeader(all, etcd.endpoints());
      copyRecords(all);
      int number = leadEverything();
      int follower = number % ClusterUnderTest.NODES + 1;
      try (EtcdClient leader = etcd.client(List.of(etcd.endpoint(leading)));
          EtcdClient other = etcd.client(List.of(etcd.endpoint(followerOf(leading))));
          Followed direct = new Followed(cluster.owner(), cluster.endpoints());
          Followed found = new Followed(cluster.owner(), List.of(cluster.endpoint(follower)))) {
        reads(direct, found, leader, other);
        firstReads(follower, etcd.endpoint(followerOf(leading)));
        refused(follower);
        writes(follower, leader, other);
      }
    }
  }

  private static int followerOf(int leading) {
    return (leading + 1) % ClusterUnderTest.NODES;
  }

  /** Puts the cluster's records of nodes into bare etcd, which then reads as much. */
  private void copyRecords(EtcdClient to) throws IOException, InterruptedException {
    KeyValues bench = to.sub("bench").kv();
    for (KeyValue record : records()) {
      bench.put(record.key(), record.value());
    }
  }

  private List<KeyValue> records() throws IOException, InterruptedException {
    try (EtcdClient from = cluster.etcd()) {
      return from.sub("curator").kv().range(KeyRange.prefix("/nodes/")).keys();
    }
  }

  /** Holds a connection to the leader that some curators name, wherever it is. */
  private final class Followed implements AutoCloseable {
    private final LeaderResolver resolver;
    private final ManagedChannel channel;

    Followed(RpcClients clients, Collection<NodeEndpoint> known) {
      resolver = LeaderResolver.fixed(known, clients, log);
      channel = resolver.channel();
    }

    Channel channel() {
      return channel;
    }

    int leader() {
      return ClusterUnderTest.number(resolver.leader().peek().orElseThrow());
    }

    @Override
    public void close() {
      channel.shutdownNow();
      resolver.close();
    }
  }

  /** Returns the number of the node that leads. */
  private int leader() throws Exception {
    try (Followed clients = new Followed(cluster.owner(), cluster.endpoints())) {
      Repeated.of(CuratorBenchmark.read(clients.channel())).run(0);
      return clients.leader();
    }
  }

  private void reads(Followed direct, Followed found, EtcdClient leader, EtcdClient other)
      throws Exception {
    Map<String, Repeated> ways = new LinkedHashMap<>();
    ways.put(LEADER, Repeated.of(CuratorBenchmark.read(direct.channel())));
    ways.put(ETCD_LEADER, Repeated.of(range(leader)));
    ways.put(FOLLOWER, Repeated.of(CuratorBenchmark.read(found.channel())));
    ways.put(ETCD_FOLLOWER, Repeated.of(range(other)));
    report.section("Three nodes: reads (Management.GetNodes)");
    compare("reads", ways);
    report.note(
        "Each read is linearizable, of three records of nodes. The node that leads the cluster leads its etcd, too. \"%s\" is a client that knows a follower alone, asks it for the leader, and calls the leader from then on. Bare etcd's follower answers itself, after it has asked its leader how far it must be."
            .formatted(FOLLOWER));
  }

  private static Load.Call range(EtcdClient client) {
    KeyValues kv = client.sub("bench").kv();
    return _ -> kv.range(KeyRange.prefix("/nodes/"));
  }

  private void firstReads(int follower, EtcdEndpoint member) throws Exception {
    List<Long> first = new ArrayList<>();
    List<Long> base = new ArrayList<>();
    RpcClients owner = cluster.owner();
    List<NodeEndpoint> known = List.of(cluster.endpoint(follower));
    for (int i = 0; i < settings.commands(); i++) {
      long began = System.nanoTime();
      try (Followed client = new Followed(owner, known)) {
        Repeated.of(CuratorBenchmark.read(client.channel())).run(0);
        first.add(System.nanoTime() - began);
      }
      began = System.nanoTime();
      try (EtcdClient client = etcd.client(List.of(member))) {
        Repeated.of(range(client)).run(0);
        base.add(System.nanoTime() - began);
      }
    }
    double measured = of(first).median();
    double baseline = of(base).median();
    report.row(
        "first read of a new client that knows a follower",
        Report.millis(measured),
        ETCD_FOLLOWER + ": " + Report.millis(baseline),
        measured / baseline,
        Aim.NONE);
  }

  /** Asks a follower itself for records. */
  private void refused(int follower) throws Exception {
    ManagedChannel channel = cluster.owner().dial(cluster.endpoint(follower));
    long began = System.nanoTime();
    String said;
    try {
      ManagementGrpc.newBlockingStub(channel)
          .withDeadlineAfter(REFUSAL_SECONDS, TimeUnit.SECONDS)
          .getNodes(GetNodesRequest.getDefaultInstance())
          .next();
      said = "answered";
    } catch (StatusRuntimeException refusal) {
      said = "refused";
      report.note(
          "What the follower said: \"%s\"."
              .formatted(Status.fromThrowable(refusal).getDescription()));
    } finally {
      channel.shutdownNow();
    }
    report.row(
        "a read for which a follower itself is asked",
        said + " after " + Report.seconds(System.nanoTime() - began),
        Aim.NONE);
  }

  private void writes(int node, EtcdClient leader, EtcdClient other) throws Exception {
    NodeStatus status = status(node);
    RpcClients clients = ClusterAccess.node(cluster.state(node));
    byte[] record = records().getFirst().value();
    try (Followed direct = new Followed(clients, cluster.endpoints());
        Followed found = new Followed(clients, List.of(cluster.endpoint(node)))) {
      Map<String, Repeated> ways = new LinkedHashMap<>();
      ways.put(LEADER, Repeated.of(write(direct.channel(), node, status)));
      ways.put(ETCD_LEADER, Repeated.of(put(leader, record)));
      ways.put(FOLLOWER, Repeated.of(write(found.channel(), node, status)));
      ways.put(ETCD_FOLLOWER, Repeated.of(put(other, record)));
      report.section("Three nodes: writes (Curator.UpdateNodeStatus)");
      compare("writes", ways);
      report.note(
          "All callers of the cluster change the record of one node; the leader joins the changes that wait into one write. Each caller of bare etcd puts a record of the same size to a key of its own, which is its best case. Its follower sends the write to the leader.");
    }
  }

  /** Returns what a node reported last, so that a write of it misleads no reader. */
  private NodeStatus status(int node) throws Exception {
    String id = cluster.endpoint(node).node().text();
    try (Followed clients = new Followed(cluster.owner(), cluster.endpoints())) {
      List<NodeStatus> found = new ArrayList<>();
      ManagementGrpc.newBlockingStub(clients.channel())
          .getNodes(GetNodesRequest.getDefaultInstance())
          .forEachRemaining(
              each -> {
                if (each.getId().equals(id)) {
                  found.add(each.getStatus());
                }
              });
      return found.getFirst();
    }
  }

  private Load.Call write(Channel channel, int node, NodeStatus status) throws IOException {
    CuratorGrpc.CuratorBlockingV2Stub curator = CuratorGrpc.newBlockingV2Stub(channel);
    UpdateNodeStatusRequest request =
        UpdateNodeStatusRequest.newBuilder()
            .setNodeId(cluster.endpoint(node).node().text())
            .setStatus(status)
            .build();
    return _ ->
        curator.withDeadlineAfter(CALL_MILLIS, TimeUnit.MILLISECONDS).updateNodeStatus(request);
  }

  private static Load.Call put(EtcdClient client, byte[] record) {
    KeyValues kv = client.sub("bench").kv();
    return caller -> kv.put("/own/" + caller, record);
  }

  private void compare(String what, Map<String, Repeated> ways) throws Exception {
    for (Load.Call way : ways.values()) {
      Load.run(CuratorBenchmark.WARM_UP_CALLERS, settings.round(), way);
    }
    for (int callers : CuratorBenchmark.CALLERS) {
      Map<String, Load.Outcome> outcomes = measure(callers, ways);
      compare("%s, %d in flight".formatted(what, callers), outcomes, LEADER, ETCD_LEADER);
      compare(
          "%s by a client that knows a follower, %d in flight".formatted(what, callers),
          outcomes,
          FOLLOWER,
          ETCD_FOLLOWER);
    }
    long failures = ways.values().stream().mapToLong(Repeated::failures).sum();
    if (failures > 0) {
      report.note("%d calls failed and were made again.".formatted(failures));
    }
  }

  private Map<String, Load.Outcome> measure(int callers, Map<String, Repeated> ways)
      throws InterruptedException, ExecutionException {
    Map<String, List<Load.Outcome>> rounds = new LinkedHashMap<>();
    for (int round = 0; round < settings.rounds(); round++) {
      for (Map.Entry<String, Repeated> way : ways.entrySet()) {
        rounds
            .computeIfAbsent(way.getKey(), _ -> new ArrayList<>())
            .add(Load.run(callers, settings.round(), way.getValue()));
      }
    }
    Map<String, Load.Outcome> outcomes = new LinkedHashMap<>();
    rounds.forEach((name, all) -> outcomes.put(name, Load.Outcome.merge(all)));
    return outcomes;
  }

  private void compare(String title, Map<String, Load.Outcome> outcomes, String way, String base) {
    Load.Outcome measured = outcomes.get(way);
    Load.Outcome baseline = outcomes.get(base);
    report.row(
        title,
        Report.number("%,.0f/s", measured.perSecond()),
        Report.number("%s: %,.0f/s", base, baseline.perSecond()),
        measured.perSecond() / baseline.perSecond(),
        Aim.NONE);
    report.row(
        title + ", p50",
        Report.millis(measured.latencies().median()),
        base + ": " + Report.millis(baseline.latencies().median()),
        measured.latencies().median() / baseline.latencies().median(),
        Aim.NONE);
    report.row(
        title + ", p99",
        Report.millis(measured.latencies().p99()),
        base + ": " + Report.millis(baseline.latencies().p99()),
        measured.latencies().p99() / baseline.latencies().p99(),
        Aim.NONE);
  }

  // ---- losses

  private void losses() throws Exception {
    List<Long> replaced = new ArrayList<>();
    List<Long> back = new ArrayList<>();
    List<Long> etcdReplaced = new ArrayList<>();
    List<Long> etcdBack = new ArrayList<>();
    for (int loss = 1; loss <= settings.losses(); loss++) {
      replaced.add(loseLeader());
      back.add(cluster.up());
      loseEtcd(etcdReplaced, etcdBack);
      Bench.progress(
          "loss %d of %d of a leader: %s, bare etcd's %s"
              .formatted(
                  loss,
                  settings.losses(),
                  Report.seconds(replaced.getLast()),
                  Report.seconds(etcdReplaced.getLast())));
    }
    report.section("Three nodes: loss of the leader");
    row(
        "a killed node that led the cluster and etcd, until the next acknowledged write",
        of(replaced),
        ETCD,
        of(etcdReplaced),
        Aim.atMost(PROMISED_SECONDS, " s", of(replaced).most() / 1e9));
    row(
        "`./polis up --nodes 3` brings the lost node back, until all are healthy",
        of(back),
        "the lost member, until it reads by quorum",
        of(etcdBack),
        Aim.NONE);
    EtcdProcess flags = EtcdProcess.of(cluster.state(1));
    report.note(
        "Median of %d (least to most), in turn; the aim is for the longest. The node's process and its etcd are killed together, as the loss of a machine does; bare etcd's leader is killed alike. Both have a heartbeat of %s ms, an election timeout of %s ms, and data on %s of this machine. One client writes, knows all three, and calls again after a failure."
            .formatted(
                settings.losses(),
                flags.flag(EtcdProcess.HEARTBEAT),
                flags.flag("election-timeout"),
                Files.getFileStore(settings.work()).type()));
  }

  /** Kills the leader, and returns the nanoseconds until the next acknowledged write. */
  private long loseLeader() throws Exception {
    int number = leadEverything();
    int other = number % ClusterUnderTest.NODES + 1;
    NodeStatus status = status(other);
    try (Followed clients =
        new Followed(ClusterAccess.node(cluster.state(other)), cluster.endpoints())) {
      Repeated write = Repeated.of(write(clients.channel(), other, status));
      for (int i = 0; i < BEFORE; i++) {
        write.run(0);
      }
      long since = cluster.lose(number);
      write.run(0);
      return System.nanoTime() - since;
    }
  }

  /**
   * Makes one node lead both etcd and the curators, so that both leaders are lost together. The
   * curators may elect another leader when etcd gets one.
   */
  private int leadEverything() throws Exception {
    AtomicInteger number = new AtomicInteger();
    try (EtcdClient client = cluster.etcd()) {
      ClusterUnderTest.await(
          "one node to lead etcd and the curators",
          () -> {
            number.set(leader());
            return leadsEtcd(client, number.get());
          });
    }
    return number.get();
  }

  /** Returns whether a node leads etcd, or else makes it the leader. */
  private boolean leadsEtcd(EtcdClient client, int number) throws Exception {
    List<EtcdEndpoint> all = cluster.etcdEndpoints();
    EtcdEndpoint wanted = all.get(number - 1);
    EtcdEndpoint leading = all.get(etcdLeader(client, all));
    try {
      if (!leading.equals(wanted)) {
        client.admin().moveLeader(leading, client.admin().status(wanted).memberId());
      }
    } catch (EtcdException elected) {
      // The next look finds the leader of that moment.
      return false;
    }
    return leading.equals(wanted);
  }

  private static int etcdLeader(EtcdClient client, List<EtcdEndpoint> all) throws Exception {
    ClusterUnderTest.await(
        "a member of etcd to lead", () -> EtcdUnderTest.leader(client, all).isPresent());
    return EtcdUnderTest.leader(client, all).orElseThrow();
  }

  private void loseEtcd(List<Long> replaced, List<Long> back) throws Exception {
    int leading;
    try (EtcdClient client = etcd.client(etcd.endpoints())) {
      leading = etcdLeader(client, etcd.endpoints());
      KeyValues kv = client.sub("bench").kv().within(EtcdUnderTest.CALL);
      Repeated write = Repeated.of(_ -> kv.put("/next", new byte[1]));
      for (int i = 0; i < BEFORE; i++) {
        write.run(0);
      }
      long since = etcd.lose(leading);
      write.run(0);
      replaced.add(System.nanoTime() - since);
    }
    back.add(etcd.comeBack(leading));
  }

  // ---- start and stop

  private void startAndStop() {
    report.section("Three nodes: start and stop");
    row(
        "`./polis up --nodes 3` from nothing, until three healthy voters",
        of(up),
        "bare etcd from nothing, until a write",
        of(etcdUp),
        Aim.atMost(60, " s", of(up).median() / 1e9));
    row("`./polis down` of three nodes", of(down), ETCD, of(etcdDown), Aim.NONE);
    report.note(
        "Median of %d (least to most), in turn, AOT cache. The nodes make their keys, two of them join with tickets and approvals, and all become voters one after the other; bare etcd knows its members from the beginning. All stop at the same time."
            .formatted(up.size()));
  }

  private static Latencies of(List<Long> nanos) {
    return Latencies.of(nanos.stream().mapToLong(Long::longValue));
  }

  private void row(String what, Latencies measured, String than, Latencies baseline, Aim aim) {
    report.row(
        what,
        measured.spread(),
        than + ": " + baseline.spread(),
        measured.median() / baseline.median(),
        aim);
  }
}
