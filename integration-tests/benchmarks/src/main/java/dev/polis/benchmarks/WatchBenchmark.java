package dev.polis.benchmarks;

import com.google.protobuf.ByteString;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.WatchOptions;
import dev.polis.etcd.WatchUpdate;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.LongStream;

/**
 * Measures one write that many streams of the curator receive, beside as many watches of etcd
 * itself, and beside as many streams of a server without other work.
 */
final class WatchBenchmark {

  /** Fewer than the 256 calls that a node allows on one connection. */
  private static final int STREAMS_PER_CONNECTION = 200;

  private static final int PATIENCE_SECONDS = 60;
  private static final String LABEL = "bench";
  private static final String WATCHERS = "etcd_debugging_mvcc_watcher_total";

  private final Settings settings;
  private final NodeUnderTest node;
  private final ClusterAccess access;
  private volatile Delivery expected = new Delivery("", 0);

  /** Holds one write on its way to all receivers. */
  private static final class Delivery {
    private final String mark;
    private final CountDownLatch missing;
    private final ConcurrentLinkedQueue<Long> arrivals = new ConcurrentLinkedQueue<>();

    Delivery(String mark, int receivers) {
      this.mark = mark;
      this.missing = new CountDownLatch(receivers);
    }

    void arrived(String seen) {
      if (seen.equals(mark)) {
        arrivals.add(System.nanoTime());
        missing.countDown();
      }
    }
  }

  @FunctionalInterface
  private interface Write {
    void run(String mark) throws Exception;
  }

  /**
   * Holds the times from before the write to each receiver, and to the last receiver of each write.
   */
  private record Fanned(Latencies each, Latencies last, CpuSpent cpu) {}

  private WatchBenchmark(Settings settings, NodeUnderTest node, ClusterAccess access) {
    this.settings = settings;
    this.node = node;
    this.access = access;
  }

  static void run(Report report, Settings settings, NodeUnderTest node) throws Exception {
    try (ClusterAccess access = new ClusterAccess(node)) {
      new WatchBenchmark(settings, node, access).run(report);
    }
  }

  private void run(Report report) throws Exception {
    double before = access.etcdMetrics().get(WATCHERS);
    Fanned raw = raw();
    double between = watchersSettledAt(before);
    double[] during = new double[1];
    Fanned curator =
        streams(access, node.pid(), () -> during[0] = access.etcdMetrics().get(WATCHERS));
    Fanned floor;
    try (BareUnderTest bare = BareUnderTest.start(settings, node, access)) {
      floor = streams(bare.access(), bare.pid(), () -> {});
    }
    int streams = settings.streams();
    report.section(Report.number("Watching: %,d streams", streams));
    report.row(
        "write to each delivery, p50",
        Report.millis(curator.each().median()),
        "as many watches of etcd: " + Report.millis(raw.each().median()),
        curator.each().median() / raw.each().median(),
        Aim.NONE);
    report.row(
        "write to each delivery, p99",
        Report.millis(curator.each().p99()),
        "as many watches of etcd: " + Report.millis(raw.each().p99()),
        curator.each().p99() / raw.each().p99(),
        Aim.atMost(20, " ms", curator.each().p99() / 1e6));
    report.row(
        "write to the last delivery, p50",
        Report.millis(curator.last().median()),
        "as many watches of etcd: " + Report.millis(raw.last().median()),
        curator.last().median() / raw.last().median(),
        Aim.NONE);
    report.row(
        "write to the last delivery, p99",
        Report.millis(curator.last().p99()),
        "as many watches of etcd: " + Report.millis(raw.last().p99()),
        curator.last().p99() / raw.last().p99(),
        Aim.NONE);
    floor(report, floor, curator);
    cpu(report, curator, raw, floor);
    double added = during[0] - between;
    report.row(
        "watches that the streams added in etcd, to the curator's own one",
        Report.number("%.0f", added),
        Aim.atMost(0, "", added));
    report.note(
        Report.number(
            "%d writes, one after the other; the time runs from before the write is sent, so the write itself is in it. etcd counts %.0f watches of the"
                + " whole node (%s), with and without the streams.",
            settings.watchedWrites(), during[0], WATCHERS));
    report.note(
        "Bare gRPC is the floor, the best that the platform under the curator can do: a server with the options of a node's JVM that encodes one event for"
            + " each call and sends it to as many streams on as many connections, with no etcd behind. Client is the process that receives; it parses"
            + " each event.");
  }

  private static void floor(Report report, Fanned floor, Fanned curator) {
    row(report, "write to each delivery, p50", floor.each().median(), curator.each().median());
    row(report, "write to each delivery, p99", floor.each().p99(), curator.each().p99());
    row(report, "write to the last delivery, p50", floor.last().median(), curator.last().median());
    row(report, "write to the last delivery, p99", floor.last().p99(), curator.last().p99());
  }

  private static void row(Report report, String what, double floor, double curator) {
    report.row(
        what + ", " + BareUnderTest.NAME + ", nothing behind it",
        Report.millis(floor),
        "curator: " + Report.millis(curator),
        floor / curator,
        Aim.NONE);
  }

  private void cpu(Report report, Fanned curator, Fanned raw, Fanned floor) {
    String title = "CPU of server + etcd + client for each delivery";
    long deliveries = (long) settings.watchedWrites() * settings.streams();
    report.row(
        title,
        curator.cpu().each(deliveries),
        "as many watches of etcd: " + raw.cpu().each(deliveries),
        curator.cpu().all() / raw.cpu().all(),
        Aim.NONE);
    report.row(
        title + ", " + BareUnderTest.NAME,
        floor.cpu().each(deliveries),
        "curator: " + curator.cpu().each(deliveries),
        floor.cpu().all() / curator.cpu().all(),
        Aim.NONE);
  }

  @FunctionalInterface
  private interface Step {
    void run() throws Exception;
  }

  private Fanned streams(ClusterAccess server, long pid, Step opened) throws Exception {
    ManagementGrpc.ManagementBlockingV2Stub owner =
        ManagementGrpc.newBlockingV2Stub(server.asOwner());
    ByteString key = ByteString.copyFrom(access.nodeKey());
    String id = access.nodeCredentials().id().text();
    CountDownLatch open = new CountDownLatch(settings.streams());
    Context.CancellableContext all = Context.current().withCancellation();
    try {
      ManagedChannel channel = server.asNode();
      for (int i = 0; i < settings.streams(); i++) {
        if (i % STREAMS_PER_CONNECTION == 0) {
          channel = server.asNode();
        }
        // A receiver does not block, so it needs no thread of its own.
        CuratorGrpc.CuratorStub stub = CuratorGrpc.newStub(channel).withExecutor(Runnable::run);
        all.run(() -> stub.watch(request(id), new Receiver(open)));
      }
      await(open, "streams to open");
      opened.run();
      return measure(
          pid,
          mark ->
              owner.updateNodeLabels(
                  UpdateNodeLabelsRequest.newBuilder()
                      .setPubkey(key)
                      .addUpsert(
                          UpdateNodeLabelsRequest.Pair.newBuilder().setKey(LABEL).setValue(mark))
                      .build()));
    } finally {
      all.close();
    }
  }

  private static WatchRequest request(String id) {
    return WatchRequest.newBuilder()
        .setNodeInCluster(WatchRequest.NodeInCluster.newBuilder().setNodeId(id))
        .build();
  }

  private final class Receiver implements StreamObserver<WatchEvent> {
    private final CountDownLatch open;
    private boolean first = true;

    Receiver(CountDownLatch open) {
      this.open = open;
    }

    @Override
    public void onNext(WatchEvent event) {
      if (first) {
        first = false;
        open.countDown();
      }
      for (Node node : event.getNodesList()) {
        for (NodeLabels.Pair pair : node.getLabels().getPairsList()) {
          if (pair.getKey().equals(LABEL)) {
            expected.arrived(pair.getValue());
          }
        }
      }
    }

    @Override
    public void onError(Throwable end) {
      // The benchmark ended the stream, or else a missing delivery is reported.
    }

    @Override
    public void onCompleted() {
      // See onError.
    }
  }

  private Fanned raw() throws Exception {
    try (EtcdClient connection = access.etcd()) {
      EtcdClient etcd = connection.sub("bench");
      KeyValues kv = etcd.kv();
      kv.put("/watched", new byte[] {0});
      CountDownLatch open = new CountDownLatch(settings.streams());
      List<EtcdWatch> watches = new ArrayList<>();
      for (int i = 0; i < settings.streams(); i++) {
        EtcdWatch watch = etcd.watch(KeyRange.single("/watched"), WatchOptions.snapshot());
        watches.add(watch);
        Thread.ofVirtual().start(() -> receive(watch, open));
      }
      await(open, "watches of etcd to open");
      Fanned fanned =
          measure(node.pid(), mark -> kv.put("/watched", mark.getBytes(StandardCharsets.UTF_8)));
      watches.forEach(EtcdWatch::close);
      return fanned;
    }
  }

  private void receive(EtcdWatch watch, CountDownLatch open) {
    try {
      while (true) {
        switch (watch.next()) {
          case WatchUpdate.Snapshot snapshot -> open.countDown();
          case WatchUpdate.Changes changes ->
              changes
                  .events()
                  .forEach(
                      event ->
                          expected.arrived(new String(event.kv().value(), StandardCharsets.UTF_8)));
          case WatchUpdate.Progress progress -> {}
        }
      }
    } catch (EtcdClosedException end) {
      // The benchmark has ended it.
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    }
  }

  private Fanned measure(long server, Write write) throws Exception {
    List<Latencies> each = new ArrayList<>();
    LongStream.Builder last = LongStream.builder();
    // The first tenth warms both sides up.
    int warm = settings.watchedWrites() / 10;
    CpuSpent before = CpuSpent.soFar(node, server);
    for (int i = -warm; i < settings.watchedWrites(); i++) {
      if (i == 0) {
        before = CpuSpent.soFar(node, server);
      }
      Delivery delivery = new Delivery("n" + System.nanoTime(), settings.streams());
      expected = delivery;
      long began = System.nanoTime();
      write.run(delivery.mark);
      await(delivery.missing, "deliveries of one write");
      if (i >= 0) {
        Latencies nanos = Latencies.of(delivery.arrivals.stream().mapToLong(at -> at - began));
        each.add(nanos);
        last.add(nanos.most());
      }
    }
    return new Fanned(
        Latencies.merge(each),
        Latencies.of(last.build()),
        CpuSpent.soFar(node, server).since(before));
  }

  /** Waits until etcd has removed the watches, a moment after their client closed them. */
  private double watchersSettledAt(double before) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (System.nanoTime() < end) {
      double now = access.etcdMetrics().get(WATCHERS);
      if (now <= before) {
        return now;
      }
      new CountDownLatch(1).await(50, TimeUnit.MILLISECONDS);
    }
    throw new TimeoutException("etcd still holds the watches of the baseline");
  }

  private static void await(CountDownLatch latch, String what) throws Exception {
    if (!latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new TimeoutException(latch.getCount() + " are missing of the " + what);
    }
  }
}
