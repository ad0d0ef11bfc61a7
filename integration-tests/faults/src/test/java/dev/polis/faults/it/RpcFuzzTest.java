package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls every method of a running node as every kind of caller, with senseless content.
 *
 * <p>The owner leaves out two calls, because they rightly end the node: a Reboot with a type, and a
 * Stop of an existing bundle. No caller replaces the CA of the cluster, since all callers trust the
 * first one. The seed determines the content, but not the order of arrival.
 */
@Tag("longer")
class RpcFuzzTest {

  /** {@code -Dpolis.calls} sets another number. */
  private static final int CALLS =
      Integer.getInteger("polis.calls", Tier.pick(2_500, 20_000, 500_000));

  /**
   * Enough calls to load all classes, compile all code, and fill the heap and all log quotas; in a
   * quick run, half of the few calls.
   */
  private static final int WARM_UP = Math.max(CALLS / 5, Math.min(CALLS / 2, 20_000));

  /** The calls that are made one at a time, each checked for changes. */
  private static final int REFUSALS = Tier.pick(100, 800, 20_000);

  /** {@code -Dpolis.methods} chooses the methods for this by a part of their name. */
  private static final String COMPARED = System.getProperty("polis.methods", "");

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  /**
   * As many as the node has processors: making and sending messages is as much work as answering.
   */
  private static final int THREADS = 2;

  private static final int PROBE_SECONDS = 60;

  /**
   * Give the node a certificate of another CA, so that the callers would not know it any more, and
   * start etcd again.
   */
  private static final Set<String> ROTATIONS =
      Set.of("polis.cluster.ClusterCa/RotateCa", "polis.cluster.ClusterCa/RotateEtcdCa");

  @TempDir Path directory;

  /** The time without a change after which the later effects of an accepted call are over. */
  private static final Duration QUIET = Duration.ofMillis(500);

  /** The time between two looks at the state, each of which reads all records and all files. */
  private static final Duration LOOK = Duration.ofMillis(100);

  private final SplittableRandom random = new SplittableRandom(SEED);
  private final FuzzTally tally = new FuzzTally();
  private final FuzzCalls calls = new FuzzCalls(tally);

  @Test
  @DisplayName("no message ends the node, leaks from it, or gets an unforeseen answer")
  void senselessMessages() throws Exception {
    System.out.printf("%d calls with -Dpolis.seed=%d%n", CALLS, SEED);
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.2")) {
      node.awaitHealthy();
      List<FuzzMethod> methods = FuzzMethod.all();
      methods.removeIf(method -> ROTATIONS.contains(method.name()));
      Map<FuzzMethod, Integer> ports = ports(node, methods);
      assertEquals(Map.of(), changedByRefused(node, ports), "refused calls that changed something");
      fire(node, ports, WARM_UP);
      Footprint before = node.footprint();
      fire(node, ports, CALLS - WARM_UP);
      System.out.println(tally.report(methods));
      node.awaitNoMoreThan(before, Footprint.OF_A_WARM_NODE_KIB);
      assertEquals(Map.of(), tally.offenders(), "calls that ended as none may");
      tally.requireCoverage(methods, CALLS);
      node.requireAlive();
      node.awaitHealthy();
    }
  }

  /** Makes unary calls one at a time; returns the changes of each refused one. */
  private Map<String, List<String>> changedByRefused(FaultNode node, Map<FuzzMethod, Integer> ports)
      throws Exception {
    Map<FuzzMethod, Integer> unary = new HashMap<>(ports);
    unary.keySet().removeIf(method -> !method.unary() || !method.name().contains(COMPARED));
    FuzzCaller caller = new FuzzCaller(node, unary, random.split());
    Map<String, List<String>> offenders = new TreeMap<>();
    int refused = 0;
    FaultState before = quiet(node);
    for (int made = 0; made < REFUSALS; made++) {
      FuzzTally one = new FuzzTally();
      FuzzCalls alone = new FuzzCalls(one);
      caller.make(alone, 1);
      alone.settle();
      FaultState after = node.state();
      Optional<String> refusal = one.refused();
      if (refusal.isPresent()) {
        refused++;
        if (!after.equals(before)) {
          offenders.put(refusal.get(), after.since(before));
        }
        before = after;
      } else {
        before = after.equals(before) ? after : quiet(node);
      }
    }
    caller.disconnect();
    System.out.printf("%d of %d calls, one at a time, were refused%n", refused, REFUSALS);
    assertTrue(refused > REFUSALS / 2, () -> "too few calls were refused to show anything");
    return offenders;
  }

  /** Waits until the state has not changed for a while. */
  private static FaultState quiet(FaultNode node) throws Exception {
    AtomicReference<FaultState> last = new AtomicReference<>(node.state());
    AtomicLong since = new AtomicLong(System.nanoTime());
    AtomicLong looked = new AtomicLong(since.get());
    Await.until(
        FaultNode.PATIENCE,
        "the node to change nothing for " + QUIET,
        () -> {
          if (System.nanoTime() - looked.get() < LOOK.toNanos()) {
            return false;
          }
          FaultState now = node.state();
          looked.set(System.nanoTime());
          if (!now.equals(last.getAndSet(now))) {
            since.set(looked.get());
          }
          return System.nanoTime() - since.get() > QUIET.toNanos();
        });
    return last.get();
  }

  /** Uses connections of its own, so that the node releases their resources afterwards. */
  private void fire(FaultNode node, Map<FuzzMethod, Integer> ports, int count) throws Exception {
    long started = System.nanoTime();
    Duration nodeBefore = cpu(node.handle());
    Duration ownBefore = cpu(ProcessHandle.current());
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> callers = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        int share = count * (thread + 1) / THREADS - count * thread / THREADS;
        SplittableRandom own = random.split();
        callers.add(threads.submit(() -> fire(node, ports, share, own)));
      }
      for (Future<?> caller : callers) {
        caller.get();
      }
    }
    node.requireAlive();
    double seconds = (System.nanoTime() - started) / 1e9;
    System.out.printf(
        "%d calls took %.1f s: %.0f/s; CPU time per call: the node's %d µs, this process's %d µs%n",
        count,
        seconds,
        count / seconds,
        cpu(node.handle()).minus(nodeBefore).dividedBy(count).toNanos() / 1000,
        cpu(ProcessHandle.current()).minus(ownBefore).dividedBy(count).toNanos() / 1000);
  }

  private static Duration cpu(ProcessHandle process) {
    return process.info().totalCpuDuration().orElseThrow();
  }

  private Void fire(FaultNode node, Map<FuzzMethod, Integer> ports, int count, SplittableRandom own)
      throws InterruptedException {
    FuzzCaller caller = new FuzzCaller(node, ports, own);
    caller.make(calls, count);
    calls.settle();
    caller.disconnect();
    return null;
  }

  /** Returns the port of the listener that serves each method. */
  static Map<FuzzMethod, Integer> ports(FaultNode node, List<FuzzMethod> methods) throws Exception {
    Map<Integer, ManagedChannel> channels = new LinkedHashMap<>();
    for (int port : FaultNode.RPC_PORTS) {
      channels.put(port, FuzzCredential.of(port).getLast().dial(node, port));
    }
    Map<FuzzMethod, Integer> ports = new HashMap<>();
    for (FuzzMethod method : methods) {
      ports.put(method, port(method, channels));
    }
    channels.values().forEach(ManagedChannel::shutdownNow);
    return ports;
  }

  private static int port(FuzzMethod method, Map<Integer, ManagedChannel> channels)
      throws Exception {
    for (Map.Entry<Integer, ManagedChannel> channel : channels.entrySet()) {
      Status status = probe(method, channel.getValue());
      if (!String.valueOf(status.getDescription()).contains("knows no such method")) {
        return channel.getKey();
      }
    }
    throw new AssertionError("no listener of this node serves " + method.name());
  }

  private static Status probe(FuzzMethod method, ManagedChannel channel) throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<byte[], byte[]> call = channel.newCall(method.call(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(byte[] answer) {
            call.cancel("it is served", null);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(new byte[0]);
    call.halfClose();
    return end.get(PROBE_SECONDS, TimeUnit.SECONDS);
  }
}
