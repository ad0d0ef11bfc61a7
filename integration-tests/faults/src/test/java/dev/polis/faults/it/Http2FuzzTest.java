package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Sends faults between TLS and the messages: in frames and headers of HTTP/2, and in the prefix
 * that gRPC puts before a message.
 *
 * <p>The node must blame the caller for each fault, on the stream or by the end of the connection,
 * serve others meanwhile, and keep nothing.
 */
@Tag("full")
@Tag("longer")
class Http2FuzzTest {

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  /** The number of random attacks at each port by each caller. */
  private static final int CHANCES = Tier.isLong() ? 100 : 5;

  private static final Set<String> BY_CHANCE =
      Set.of("random frames", "random bytes", "a call with flipped bits");

  /** Long, for a busy machine; a node that never answers is still found. */
  private static final Duration ANSWER = Duration.ofSeconds(60);

  private static final int OK = 0;
  private static final int INVALID_ARGUMENT = 3;

  /** The answer to a stranger, with any other fault. */
  private static final int UNAUTHENTICATED = 16;

  /** The faults after which the node may wait for the rest of a frame. */
  private static final Set<String> SWALLOWING =
      Set.of("half a frame", "random frames", "random bytes", "a call with flipped bits");

  private static final Duration MOMENT = Duration.ofMillis(200);

  @TempDir Path directory;

  private final SplittableRandom random = new SplittableRandom(SEED);
  private final Map<String, String> defects = new ConcurrentSkipListMap<>();
  private final Map<String, Integer> ends = new ConcurrentSkipListMap<>();

  /**
   * Holds a listener, a caller and a method, and the expected end of its call with an empty
   * message.
   */
  private record Door(int port, FuzzCredential caller, String path, int code) {
    /** Returns whether a call without a fault ends like this. */
    boolean serves(Http2End end) {
      return end.kind() == Http2End.Kind.GRPC && end.code() == code;
    }

    @Override
    public String toString() {
      return port + " " + caller;
    }
  }

  private static final List<Door> DOORS =
      List.of(
          new Door(
              FaultNode.CURATOR,
              FuzzCredential.OWNER,
              "/metropolis.node.core.curator.proto.api.CuratorLocal/GetCACertificate",
              OK),
          new Door(
              FaultNode.CURATOR,
              FuzzCredential.NOBODY,
              "/metropolis.node.core.curator.proto.api.CuratorLocal/GetCACertificate",
              OK),
          new Door(
              FaultNode.MANAGEMENT, FuzzCredential.OWNER, "/polis.node.plugins.Plugins/List", OK),
          new Door(
              FaultNode.MANAGEMENT,
              FuzzCredential.NOBODY,
              "/polis.node.plugins.Plugins/List",
              UNAUTHENTICATED),
          new Door(
              FaultNode.DEBUG,
              FuzzCredential.PLAINTEXT,
              "/metropolis.proto.api.NodeDebugService/Logs",
              INVALID_ARGUMENT));

  @Test
  @DisplayName(
      "no frame ends the node, leaks from it, disturbs others, or is reported as the node's own fault")
  void senselessFrames() throws Exception {
    System.out.printf("frames with -Dpolis.seed=%d%n", SEED);
    // Opens a connection for each fault, more in a second than a stranger may.
    String many = "dev.polis.rpc.source.connections.per.second=65536";
    try (FaultNode node = FaultNode.home(directory.resolve("n"), "127.0.32.5", "--set", many)) {
      node.awaitHealthy();
      abuse(node, DOORS.getFirst(), random);
      Footprint before = node.footprint();
      try (Bystanders others = Bystanders.of(node)) {
        abuseAll(node);
        others.check("the frames");
        System.out.printf("others had %s%n", others);
      }
      System.out.printf("ends %s%n", ends);
      node.awaitNoMoreThan(before);
      assertEquals(Map.of(), defects, "faults that were not reported as the caller's");
      node.requireAlive();
      node.awaitHealthy();
    }
  }

  /**
   * Attacks as the owner and as strangers at the same time, since each attack mostly waits for an
   * answer. The attacks of strangers share their few places, and come one after the other.
   */
  private void abuseAll(FaultNode node) throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Void>> all = new ArrayList<>();
      DOORS.stream()
          .collect(Collectors.partitioningBy(door -> door.caller() == FuzzCredential.OWNER))
          .values()
          .forEach(
              doors -> {
                SplittableRandom own = random.split();
                all.add(threads.submit(() -> abuse(node, doors, own)));
              });
      for (Future<Void> each : all) {
        each.get();
      }
    }
  }

  private Void abuse(FaultNode node, List<Door> doors, SplittableRandom own) throws Exception {
    for (Door door : doors) {
      long started = System.nanoTime();
      abuse(node, door, own);
      System.out.printf(
          "%s: %d ms%n", door, Duration.ofNanos(System.nanoTime() - started).toMillis());
    }
    return null;
  }

  private void abuse(FaultNode node, Door door, SplittableRandom own) throws Exception {
    for (Http2Call call : Http2Call.faulty(door.path())) {
      fault(node, door, call);
    }
    Http2Call good = Http2Call.good(door.path());
    for (Map.Entry<String, Http2Abuse> abuse : Http2Abuse.all(good, own).entrySet()) {
      int times = BY_CHANCE.contains(abuse.getKey()) ? CHANCES : 1;
      for (int time = 0; time < times; time++) {
        attack(node, door, abuse.getKey(), abuse.getValue());
      }
    }
  }

  /** Uses a connection for each fault, since one that ends the connection would hide the next. */
  private void fault(FaultNode node, Door door, Http2Call call) throws Exception {
    try (Http2Peer peer = Http2Peer.connect(node, door.port(), door.caller())) {
      Http2End end = end(peer, call);
      count(end);
      if (!isAllowed(call, end)) {
        offended(door + ": " + call, end.toString());
      }
      if (peer.end().isOpen()) {
        requireServed(peer, door, call.name());
      }
    }
  }

  /** Returns the end of a call; the node may close the connection before all of it is sent. */
  private static Http2End end(Http2Peer peer, Http2Call call) throws InterruptedException {
    try {
      return peer.awaitEnd(call.send(peer), ANSWER);
    } catch (IOException closed) {
      return peer.awaitEnd(0, ANSWER);
    }
  }

  private static boolean isAllowed(Http2Call call, Http2End end) {
    return switch (call.besides()) {
      case NOTHING -> !end.isOpen() && !end.isDefect() && !end.isOk();
      case SERVED -> !end.isOpen() && !end.isDefect();
      case INTERNAL -> !end.isOpen() && !end.isOk();
    };
  }

  private void attack(FaultNode node, Door door, String name, Http2Abuse abuse) throws Exception {
    try (ExecutorService thread = Executors.newVirtualThreadPerTaskExecutor();
        Http2Peer peer = Http2Peer.connect(node, door.port(), door.caller())) {
      Future<Http2End> attack = thread.submit(() -> after(peer, door, name, abuse));
      try {
        Http2End end = attack.get(2 * ANSWER.toSeconds(), TimeUnit.SECONDS);
        count(end);
        if (end.isDefect() || end.isOpen() && !SWALLOWING.contains(name)) {
          offended(door + ": " + name, end.toString());
        }
      } catch (TimeoutException stuck) {
        offended(door + ": " + name, "the node neither reads nor closes the connection");
      }
    }
  }

  /** Makes the attack and then a call on the same connection. */
  private static Http2End after(Http2Peer peer, Door door, String name, Http2Abuse abuse)
      throws InterruptedException {
    try {
      abuse.attack().on(peer);
      int stream = Http2Call.good(door.path()).send(peer);
      return peer.awaitEnd(stream, SWALLOWING.contains(name) ? MOMENT : ANSWER);
    } catch (IOException closed) {
      return peer.awaitEnd(0, ANSWER);
    }
  }

  private void requireServed(Http2Peer peer, Door door, String after) throws Exception {
    Http2End end = end(peer, Http2Call.good(door.path()));
    // The bytes after a refused head may have ended the connection meanwhile.
    boolean over = end.kind() == Http2End.Kind.GOAWAY || end.kind() == Http2End.Kind.CLOSED;
    if (!door.serves(end) && (!over || end.isDefect())) {
      offended(door + ": the call after " + after, end.toString());
    }
  }

  /** Prints a line at once, since a call without an answer takes a while. */
  private void offended(String what, String how) {
    defects.put(what, how);
    System.out.printf("OFFENDER %s: %s%n", what, how);
  }

  private void count(Http2End end) {
    ends.merge(end.kind() + " " + end.code(), 1, Integer::sum);
  }
}
