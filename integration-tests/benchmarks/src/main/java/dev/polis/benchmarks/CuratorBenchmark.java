package dev.polis.benchmarks;

import com.google.protobuf.ByteString;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.grpc.Channel;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Measures calls of the curator over mutual TLS, beside the same reads and writes of etcd, and
 * beside a server that does nothing else.
 */
final class CuratorBenchmark {

  static final int[] CALLERS = {1, 8, 64};

  /** Enough calls for the compilers of both sides to compile the hot paths. */
  static final int WARM_UP_CALLERS = 8;

  private static final String CURATOR = "curator";
  private static final String POLIS = "dev.polis.etcd";
  private static final String JETCD = "jetcd";
  private static final String BARE = BareUnderTest.NAME;
  private static final String UNAUDITED = "UpdateNodeStatus";

  private final Report report;
  private final Settings settings;
  private final NodeUnderTest node;
  private final ClusterAccess access;
  private final EtcdClient etcd;
  private final Client jetcd;
  private final BareUnderTest bare;
  private final AtomicLong ticker = new AtomicLong();

  /** The results of one way. */
  private record Measured(Load.Outcome outcome, CpuSpent cpu) {}

  private CuratorBenchmark(
      Report report,
      Settings settings,
      NodeUnderTest node,
      ClusterAccess access,
      EtcdClient etcd,
      Client jetcd,
      BareUnderTest bare) {
    this.report = report;
    this.settings = settings;
    this.node = node;
    this.access = access;
    this.etcd = etcd;
    this.jetcd = jetcd;
    this.bare = bare;
  }

  static void run(Report report, Settings settings, NodeUnderTest node) throws Exception {
    try (ClusterAccess access = new ClusterAccess(node);
        EtcdClient etcd = access.etcd();
        Client jetcd = access.jetcd();
        BareUnderTest bare = BareUnderTest.start(settings, node, access)) {
      CuratorBenchmark benchmark =
          new CuratorBenchmark(report, settings, node, access, etcd, jetcd, bare);
      benchmark.reads();
      benchmark.writes();
    }
  }

  private void reads() throws Exception {
    KeyValues kv = etcd.sub(CURATOR).kv();
    KeyValue first = kv.range(KeyRange.prefix("/nodes/")).keys().getFirst();
    Map<String, Load.Call> ways = new LinkedHashMap<>();
    ways.put(CURATOR, read(access.asOwner()));
    ways.put(
        POLIS,
        caller ->
            kv.txn()
                .when(Compare.unchanged(first))
                .then(Op.get(KeyRange.prefix("/nodes/")))
                .commit());
    KV client = jetcd.getKVClient();
    ByteSequence prefix = bytes("namespaced:curator//nodes/");
    ByteSequence present = bytes("namespaced:curator/" + first.key());
    ways.put(
        JETCD,
        caller ->
            client
                .txn()
                .If(new Cmp(present, Cmp.Op.GREATER, CmpTarget.createRevision(0)))
                .Then(io.etcd.jetcd.op.Op.get(prefix, GetOption.builder().isPrefix(true).build()))
                .commit()
                .get());
    ways.put(BARE, read(bare.access().asOwner()));
    report.section("Curator: reads (Management.GetNodes)");
    compare("reads", ways);
    report.note(
        "Each is linearizable. Bare etcd runs a transaction: if a key is as expected, then the range of nodes (one record). The curator answers from"
            + " the leader's memory while its lease certainly lives; it adds identity, authorization, validation and audit.");
    report.note(
        "Bare gRPC is the floor, the best that the platform under the curator can do: the same call to a server with the options of a node's JVM that"
            + " answers at once with the same record, encoded beforehand, and does nothing else. Where it misses an aim itself, a curator on this"
            + " machine is not expected to meet it.");
  }

  /** Returns a call that lists all nodes. */
  static Load.Call read(Channel curator) {
    // The callbacks never block, as in the clients of etcd.
    ManagementGrpc.ManagementStub management =
        ManagementGrpc.newStub(curator).withExecutor(Runnable::run);
    return caller -> {
      Nodes nodes = new Nodes();
      management.getNodes(GetNodesRequest.getDefaultInstance(), nodes);
      nodes.done.get();
    };
  }

  private static final class Nodes implements StreamObserver<Node> {
    private final List<Node> list = new ArrayList<>();
    private final CompletableFuture<List<Node>> done = new CompletableFuture<>();

    @Override
    public void onNext(Node node) {
      list.add(node);
    }

    @Override
    public void onError(Throwable failure) {
      done.completeExceptionally(failure);
    }

    @Override
    public void onCompleted() {
      done.complete(list);
    }
  }

  private void writes() throws Exception {
    String id = access.nodeCredentials().id().text();
    KeyValues kv = etcd.sub("bench").kv();
    byte[] record = new byte[recordSize()];
    kv.put("/contended", record);
    Map<String, Load.Call> ways = new LinkedHashMap<>();
    ways.put(CURATOR, write(access, id));
    ways.put(POLIS, caller -> replace(kv, "/contended"));
    KV client = jetcd.getKVClient();
    ByteSequence contended = bytes("namespaced:bench//contended");
    ways.put(JETCD, caller -> replace(client, contended));
    ways.put(BARE, write(bare.access(), id));
    report.section("Curator: writes (Curator.UpdateNodeStatus)");
    compare("writes of one record", ways);
    report.note(
        "A cluster of one node has one such record, so all callers change the same: read it, and replace it if no other caller has; otherwise"
            + " again. Bare etcd is asked for the same, retries included. The curator makes the changes that wait one after the other and writes"
            + " them together.");
    report.note(
        "Bare gRPC is about the least that a server in front of etcd does with this client of etcd: it knows the revision of its record"
            + " beforehand, replaces it with one transaction for all waiting callers, and answers. It has no fence, decodes no record and authorizes no caller.");
    independent(ways.get(CURATOR), kv, record);
    audited(id, ways.get(CURATOR));
  }

  private static Load.Call write(ClusterAccess server, String id) throws IOException {
    CuratorGrpc.CuratorBlockingV2Stub curator = CuratorGrpc.newBlockingV2Stub(server.asNode());
    UpdateNodeStatusRequest request =
        UpdateNodeStatusRequest.newBuilder()
            .setNodeId(id)
            .setStatus(
                NodeStatus.newBuilder()
                    .setExternalAddress(NodeUnderTest.ADDRESS)
                    .setRunningCurator(
                        NodeStatus.RunningCurator.newBuilder().setPort(ClusterAccess.CURATOR_PORT)))
            .build();
    return caller -> curator.updateNodeStatus(request);
  }

  /** Compares a change that the audit log keeps on the disk with one that it only counts. */
  private void audited(String id, Load.Call unaudited) throws Exception {
    ManagementGrpc.ManagementBlockingV2Stub management =
        ManagementGrpc.newBlockingV2Stub(access.asOwner());
    Map<String, Load.Call> ways = new LinkedHashMap<>();
    ways.put(
        CURATOR,
        caller ->
            management.updateNodeLabels(
                UpdateNodeLabelsRequest.newBuilder()
                    .setId(id)
                    .addUpsert(
                        UpdateNodeLabelsRequest.Pair.newBuilder()
                            .setKey("bench")
                            .setValue(Long.toString(ticker.incrementAndGet())))
                    .build()));
    ways.put(UNAUDITED, unaudited);
    report.section("Curator: audited writes (Management.UpdateNodeLabels)");
    for (Load.Call way : ways.values()) {
      Load.run(WARM_UP_CALLERS, settings.round(), way);
    }
    for (int callers : new int[] {CALLERS[0], CALLERS[CALLERS.length - 1]}) {
      Map<String, Measured> outcomes = measure(callers, ways);
      String title = "audited writes, " + callers + " in flight";
      throughput(title, outcomes, UNAUDITED, Aim.NONE);
      double labels = outcomes.get(CURATOR).outcome().latencies().median();
      double status = outcomes.get(UNAUDITED).outcome().latencies().median();
      report.row(
          title + ", p50",
          Report.millis(labels),
          UNAUDITED + ": " + Report.millis(status),
          labels / status,
          Aim.NONE);
    }
    report.note(
        "Both change the record of the same node. The audit log has a label's change on the disk before the change is made, with an fsync that"
            + " calls at the same time share; a node's report about itself it only counts.");
  }

  /** Measures the best case of etcd: no two callers write the same record. */
  private void independent(Load.Call curator, KeyValues kv, byte[] record) throws Exception {
    for (int i = 0; i < CALLERS[CALLERS.length - 1]; i++) {
      kv.put("/own/" + i, record);
    }
    int callers = CALLERS[CALLERS.length - 1];
    Map<String, Load.Call> ways = new LinkedHashMap<>();
    ways.put(CURATOR, curator);
    ways.put(POLIS, caller -> replace(kv, "/own/" + caller));
    Map<String, Measured> outcomes = measure(callers, ways);
    String title = "writes, " + callers + " in flight, etcd with a record for each";
    throughput(title, outcomes, POLIS, Aim.NONE);
    cpu(title, outcomes, CURATOR);
  }

  private int recordSize() throws InterruptedException {
    return etcd.sub(CURATOR)
        .kv()
        .range(KeyRange.prefix("/nodes/"))
        .keys()
        .getFirst()
        .value()
        .length;
  }

  private void replace(KeyValues kv, String key) throws InterruptedException {
    while (true) {
      KeyValue seen = kv.get(key).orElseThrow();
      byte[] next = seen.value().clone();
      stamp(next);
      if (kv.txn().when(Compare.unchanged(seen)).then(Op.put(key, next)).commit().succeeded()) {
        return;
      }
    }
  }

  private void replace(KV kv, ByteSequence key) throws Exception {
    while (true) {
      io.etcd.jetcd.KeyValue seen = kv.get(key).get().getKvs().getFirst();
      byte[] next = seen.getValue().getBytes();
      stamp(next);
      TxnResponse answer =
          kv.txn()
              .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(seen.getModRevision())))
              .Then(io.etcd.jetcd.op.Op.put(key, ByteSequence.from(next), PutOption.DEFAULT))
              .commit()
              .get();
      if (answer.isSucceeded()) {
        return;
      }
    }
  }

  private void stamp(byte[] value) {
    java.nio.ByteBuffer.wrap(value).putLong(ticker.incrementAndGet());
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(ByteString.copyFromUtf8(text));
  }

  private void compare(String what, Map<String, Load.Call> ways) throws Exception {
    for (Load.Call way : ways.values()) {
      Load.run(WARM_UP_CALLERS, settings.round(), way);
    }
    for (int callers : CALLERS) {
      Map<String, Measured> outcomes = measure(callers, ways);
      String title = what + ", " + callers + " in flight";
      Load.Outcome curator = outcomes.get(CURATOR).outcome();
      cpu(title, outcomes, CURATOR);
      for (String base : List.of(POLIS, JETCD, BARE)) {
        Load.Outcome baseline = outcomes.get(base).outcome();
        boolean aimed = base.equals(POLIS) && callers == CALLERS[CALLERS.length - 1];
        double ratio = curator.perSecond() / baseline.perSecond();
        double slower = curator.latencies().median() / baseline.latencies().median();
        throughput(title, outcomes, base, aimed ? Aim.atLeast(1.0, " ×", ratio) : Aim.NONE);
        report.row(
            title + ", p50",
            Report.millis(curator.latencies().median()),
            base + ": " + Report.millis(baseline.latencies().median()),
            slower,
            aimOf(what, base, callers, slower));
        report.row(
            title + ", p99",
            Report.millis(curator.latencies().p99()),
            base + ": " + Report.millis(baseline.latencies().p99()),
            curator.latencies().p99() / baseline.latencies().p99(),
            Aim.NONE);
      }
      floor(title, outcomes);
    }
  }

  /** Compares a server without a curator with bare etcd. */
  private void floor(String title, Map<String, Measured> outcomes) {
    throughput(title + ", " + BARE, outcomes, BARE, POLIS, Aim.NONE);
    double floor = outcomes.get(BARE).outcome().latencies().median();
    double baseline = outcomes.get(POLIS).outcome().latencies().median();
    report.row(
        title + ", " + BARE + ", p50",
        Report.millis(floor),
        POLIS + ": " + Report.millis(baseline),
        floor / baseline,
        Aim.NONE);
    cpu(title + ", " + BARE, outcomes, BARE);
  }

  /** Returns the allowed ratio of a call's time to bare etcd's. */
  private static Aim aimOf(String what, String base, int callers, double slower) {
    if (!base.equals(POLIS)) {
      return Aim.NONE;
    }
    return what.equals("reads") || callers > 1
        ? Aim.atMost(1.25, " ×", slower)
        : Aim.atMost(1.4, " ×", slower);
  }

  private void throughput(String title, Map<String, Measured> outcomes, String base, Aim aim) {
    throughput(title, outcomes, CURATOR, base, aim);
  }

  private void throughput(
      String title, Map<String, Measured> outcomes, String way, String base, Aim aim) {
    Load.Outcome measured = outcomes.get(way).outcome();
    Load.Outcome baseline = outcomes.get(base).outcome();
    report.row(
        title,
        Report.number("%,.0f/s", measured.perSecond()),
        Report.number("%s: %,.0f/s", base, baseline.perSecond()),
        measured.perSecond() / baseline.perSecond(),
        aim);
  }

  private void cpu(String title, Map<String, Measured> outcomes, String way) {
    Measured measured = outcomes.get(way);
    Measured baseline = outcomes.get(POLIS);
    long calls = measured.outcome().latencies().count();
    long others = baseline.outcome().latencies().count();
    report.row(
        title + ", CPU of " + (way.equals(BARE) ? "server" : "node") + " + etcd + client for each",
        measured.cpu().each(calls),
        POLIS + ": " + baseline.cpu().each(others),
        measured.cpu().all() / calls / (baseline.cpu().all() / others),
        Aim.NONE);
  }

  private Map<String, Measured> measure(int callers, Map<String, Load.Call> ways) throws Exception {
    Map<String, List<Load.Outcome>> rounds = new LinkedHashMap<>();
    Map<String, CpuSpent> cpu = new LinkedHashMap<>();
    for (int round = 0; round < settings.rounds(); round++) {
      for (Map.Entry<String, Load.Call> way : ways.entrySet()) {
        long server = way.getKey().equals(BARE) ? bare.pid() : node.pid();
        CpuSpent before = CpuSpent.soFar(node, server);
        rounds
            .computeIfAbsent(way.getKey(), name -> new ArrayList<>())
            .add(Load.run(callers, settings.round(), way.getValue()));
        cpu.merge(way.getKey(), CpuSpent.soFar(node, server).since(before), CpuSpent::plus);
      }
    }
    Map<String, Measured> outcomes = new LinkedHashMap<>();
    rounds.forEach(
        (name, all) -> outcomes.put(name, new Measured(Load.Outcome.merge(all), cpu.get(name))));
    return outcomes;
  }
}
