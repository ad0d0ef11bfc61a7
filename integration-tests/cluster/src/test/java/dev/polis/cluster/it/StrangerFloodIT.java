package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.LogsRequest.BacklogMode;
import dev.polis.wire.api.LogsRequest.StreamMode;
import dev.polis.wire.api.LogsResponse;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.common.LogFilter;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.debug.GetComponentLogsRequest;
import dev.polis.wire.debug.GetComponentLogsResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Attacks a real node as strangers can: with floods of connections at each of its ports, and of
 * calls at the port for developers. The long form, {@code polis test --long}, opens 10,000
 * connections at each port, holds them, and reads the log for 60 s; the short one 2,000, and 5 s.
 */
@Tag("longer")
class StrangerFloodIT {
  private static final boolean LONG = Tier.isLong();
  private static final int CONNECTIONS = LONG ? 10_000 : 2_000;
  private static final Duration READING = Duration.ofSeconds(LONG ? 60 : 5);

  /** The promised time of each answer. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** Longer than polisctl's own 15 s, so that a slow answer is measured. */
  private static final String TIMEOUT = "--timeout=60";

  private static final String ADDRESS = "127.0.79.1";
  private static final String SOURCES = "127.0.80.";
  private static final int DEBUG = 7837;
  private static final int STRANGERS = 50;

  /** The sum of 96 MiB of heap, 48 MiB of code, class metadata, and Netty's memory. */
  static final long RESIDENT_KIB = 320 << 10;

  /** The memory of one member with its records, and twice Go's memory for each connection. */
  private static final long ETCD_KIB = (64 << 10) + 24L * CONNECTIONS;

  /**
   * The places for strangers at all ports of the node together; etcd's own two ports have no limit.
   */
  private static final int PLACES = 256;

  private static final Set<Integer> OF_ETCD = Set.of(7833, 7834);

  private static final String LONG_NAME = "x".repeat(400);

  @TempDir static Path directory;

  private static TestNode node;

  @BeforeAll
  static void up() throws Exception {
    node = TestNode.prepared(directory.resolve("n"), ADDRESS);
    node.up();
    node.takeOwnership();
    node.ctl("health", "--wait=60").requireSuccess("health");
  }

  @AfterAll
  static void down() {
    node.close();
  }

  /** Calls the curator, the node's management and its debug service, each on a new connection. */
  private static List<Duration> answers() {
    List<Duration> answers = new ArrayList<>();
    for (List<String> command :
        List.of(
            List.of("node", "list", TIMEOUT),
            List.of("health", TIMEOUT),
            List.of("debug", "condition", "IPAssigned", TIMEOUT))) {
      long began = System.nanoTime();
      Finished answer = node.ctl(command.toArray(String[]::new));
      answers.add(Duration.ofNanos(System.nanoTime() - began));
      assertEquals(0, answer.code(), () -> command + ": " + answer.all());
      // These words would mean that the cluster did not answer, and another source did.
      assertFalse(answer.err().contains("was not asked"), () -> command + ": " + answer.all());
    }
    return answers;
  }

  /** Returns every second port by turns, one of etcd among them; all in the long form. */
  private static List<Integer> ports() {
    return Slice.of(List.of(7833, 7834, 7835, DEBUG, 7839, 7840), 2);
  }

  @ParameterizedTest(name = "port {0}")
  @MethodSource("ports")
  @Tag("attack")
  @DisplayName("polisctl answers within 2 s while 16 addresses flood a port with connections")
  void polisctlAnswersUnderAFlood(int port) throws Exception {
    answers();
    InetSocketAddress target = new InetSocketAddress(ADDRESS, port);
    List<Duration> answers = new ArrayList<>();
    MachineSpeed speed = MachineSpeed.measure();
    try (ConnectionFlood flood = ConnectionFlood.begin(target, SOURCES, CONNECTIONS)) {
      long began = System.nanoTime();
      do {
        answers.addAll(answers());
      } while (!flood.over());
      // Measures also while the rest of the flood is held.
      answers.addAll(answers());
      Collections.sort(answers);
      long resident = residentKib(node.jvmPid());
      long etcd = residentKib(node.etcd().pid());
      System.out.printf(
          "port %d: of %d connections %d were open, %d still are, within %d ms; of %d answers p50 %d ms, slowest %d ms; etcd %d KiB, node %d KiB%n",
          port,
          flood.tried(),
          flood.opened(),
          flood.held(),
          Duration.ofNanos(System.nanoTime() - began).toMillis(),
          answers.size(),
          answers.get(answers.size() / 2).toMillis(),
          answers.getLast().toMillis(),
          etcd,
          resident);
      assertEquals(CONNECTIONS, flood.opened(), flood::refusal);
      // The node closes the others at once; this side notices it a moment later.
      Await.until(
          "at most %d connections of strangers are held".formatted(PLACES),
          () -> OF_ETCD.contains(port) || flood.held() <= PLACES);
      assertTrue(resident < RESIDENT_KIB, "the node took %d KiB".formatted(resident));
      assertTrue(etcd < ETCD_KIB, "etcd took %d KiB".formatted(etcd));
    }
    speed.assertWithin("polisctl answered", PROMISED, answers.getLast());
  }

  /** Returns the memory that the kernel counts for a process. */
  static long residentKib(long pid) throws IOException {
    return status(pid, "VmRSS:");
  }

  private static long status(long pid, String key) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
        .filter(line -> line.startsWith(key))
        .map(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @Tag("full")
  @Tag("attack")
  @DisplayName(
      "50 strangers read root of a full log under a flood of refused calls; the node lives, and polisctl answers within 2 s")
  void strangersReadAFullLog() throws Exception {
    long pid = node.jvmPid();
    MachineSpeed speed = MachineSpeed.measure();
    AtomicBoolean stop = new AtomicBoolean();
    CountDownLatch stopped = new CountDownLatch(1);
    AtomicInteger refused = new AtomicInteger();
    AtomicInteger replies = new AtomicInteger();
    AtomicInteger entries = new AtomicInteger();
    List<ManagedChannel> channels = new ArrayList<>();
    Duration slowest = Duration.ZERO;
    long most = 0;
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        ManagedChannel channel = dial(channels);
        running.add(threads.submit(() -> refuse(channel, stop, refused)));
      }
      // The journal of refused calls is full after 8192 of them.
      Await.until(TestNode.PATIENCE, "the log to be full", () -> refused.get() > 10_000);
      for (int i = 0; i < STRANGERS; i++) {
        ManagedChannel channel = dial(channels);
        boolean stuck = i % 5 == 0;
        running.add(
            threads.submit(
                () -> {
                  readStream(channel, stuck, stop, stopped, entries);
                  return null;
                }));
        running.add(threads.submit(() -> readComponent(channel, stop, replies)));
      }
      long end = System.nanoTime() + READING.toNanos();
      while (System.nanoTime() < end) {
        slowest = Collections.max(Stream.concat(Stream.of(slowest), answers().stream()).toList());
        most = Math.max(most, residentKib(pid));
      }
      stop.set(true);
      stopped.countDown();
      channels.forEach(ManagedChannel::shutdownNow);
      for (Future<?> each : running) {
        each.get(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    } finally {
      stop.set(true);
      stopped.countDown();
      channels.forEach(ManagedChannel::shutdownNow);
    }
    System.out.printf(
        "debug flood: %d calls refused, %d answers and %d entries read; node at most %d KiB; slowest answer %d ms%n",
        refused.get(), replies.get(), entries.get(), most, slowest.toMillis());
    assertTrue(replies.get() > 0 && entries.get() > 0, "no stranger read a line");
    assertEquals(pid, node.jvmPid());
    assertEquals(0, node.ctl("node", "list").code());
    assertTrue(most < RESIDENT_KIB, "the node took %d KiB".formatted(most));
    speed.assertWithin("polisctl answered", PROMISED, slowest);
  }

  private static ManagedChannel dial(List<ManagedChannel> channels) {
    ManagedChannel channel = RpcClients.plaintext(new InetSocketAddress(ADDRESS, DEBUG));
    channels.add(channel);
    return channel;
  }

  /** Calls unknown methods with long names, which the node logs. */
  private static void refuse(ManagedChannel channel, AtomicBoolean stop, AtomicInteger refused) {
    while (!stop.get()) {
      try {
        DebugGrpc.newBlockingStub(channel)
            .getComponentLogs(
                GetComponentLogsRequest.newBuilder().addComponentPath(LONG_NAME).build());
      } catch (StatusRuntimeException e) {
        refused.incrementAndGet();
      }
    }
  }

  private static void readStream(
      ManagedChannel channel,
      boolean stuck,
      AtomicBoolean stop,
      CountDownLatch stopped,
      AtomicInteger entries)
      throws InterruptedException {
    LogsRequest everything =
        LogsRequest.newBuilder()
            .setDn("")
            .setBacklogMode(BacklogMode.BACKLOG_MODE_ALL)
            .setStreamMode(StreamMode.STREAM_MODE_UNBUFFERED)
            .addFilters(
                LogFilter.newBuilder().setWithChildren(LogFilter.WithChildren.getDefaultInstance()))
            .build();
    while (!stop.get()) {
      try {
        Iterator<LogsResponse> responses =
            NodeDebugServiceGrpc.newBlockingStub(channel).logs(everything);
        // A stuck stranger reads one response, and then holds the call open without reading.
        for (int i = 0; i < 200 && responses.hasNext(); i++) {
          entries.addAndGet(responses.next().getBacklogEntriesCount());
          if (stuck) {
            stopped.await();
          }
        }
      } catch (StatusRuntimeException e) {
        requireKnown(e, stop);
      }
    }
  }

  private static void readComponent(
      ManagedChannel channel, AtomicBoolean stop, AtomicInteger answers) {
    while (!stop.get()) {
      try {
        GetComponentLogsResponse answer =
            DebugGrpc.newBlockingStub(channel)
                .getComponentLogs(
                    GetComponentLogsRequest.newBuilder().addComponentPath("root").build());
        assertTrue(answer.getLinesCount() > 0);
        answers.incrementAndGet();
      } catch (StatusRuntimeException e) {
        requireKnown(e, stop);
      }
    }
  }

  private static void requireKnown(StatusRuntimeException failure, AtomicBoolean stop) {
    boolean known = failure.getStatus().getCode() == Status.Code.UNAVAILABLE;
    if (!known && !stop.get()) {
      throw failure;
    }
  }
}
