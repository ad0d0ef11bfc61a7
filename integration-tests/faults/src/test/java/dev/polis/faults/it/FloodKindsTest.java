package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Slice;
import dev.polis.fixtures.Tier;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Floods all ports of one node at once, in each way that a stranger can, from few addresses and
 * from many. The long form has eight times as many connections.
 */
@Tag("full")
@Tag("longer")
class FloodKindsTest {

  private static final int FEW = 4;
  private static final int MANY = 64;

  /**
   * The connections of all addresses to each port. On the node's own four ports they add up to the
   * places for strangers.
   */
  private static final int CONNECTIONS = Tier.isLong() ? 512 : 64;

  /** The promised time of each answer. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** Longer than polisctl's own 15 s, so that a slow answer is measured. */
  private static final String TIMEOUT = "--timeout=60";

  private static final int ROUNDS = Tier.isLong() ? 40 : 4;

  /**
   * The connections, or calls, that a flood must hold at the same time: half of the 256 places for
   * strangers at all ports of the node. Connections to 7840 end within their handshake.
   */
  private static final int HELD = 128;

  /** The same for connections to gRPC with a complete handshake. */
  private static final int GREETED = 64;

  /** Limits the log, which a flood fills, so that its memory does not hide the flood's. */
  private static final String SMALL_LOG = "dev.polis.logtree.mebibytes=4";

  /** The memory of one member with its records, and twice Go's memory for each connection. */
  private static final long ETCD_KIB = (64 << 10) + 24L * Flood.OF_ETCD.size() * CONNECTIONS;

  /** The third number in the addresses of the first flood. */
  private static final int FIRST_SOURCES = 100;

  private static final Pattern PORT = Pattern.compile("(?:listener|port)=\"\\w+\",?");

  private static final String STRANGERS = "polis_rpc_connections{of=\"strangers\",}";
  private static final String CALLS = "polis_rpc_stranger_calls{}";
  private static final String CALLS_OF = "polis_rpc_active_calls{method=\"%s\"}";

  @TempDir static Path directory;

  private static FaultNode node;
  private static HttpClient metrics;
  private static Footprint before;
  private static int flooded;

  @BeforeAll
  static void up() throws Exception {
    node = FaultNode.home(directory.resolve("n"), "127.0.84.1", "--set", SMALL_LOG);
    node.awaitHealthy();
    metrics =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .sslContext(node.tls(FuzzCredential.OWNER))
            .build();
    answers();
    counts();
    before = node.footprint();
  }

  @AfterAll
  static void down() {
    metrics.close();
    node.close();
  }

  /** Each kind, in the short form from few addresses or from many by turns. */
  static List<Arguments> floods() {
    return Slice.of(List.of(FEW, MANY), 2).stream()
        .flatMap(count -> Stream.of(Flood.Kind.values()).map(kind -> Arguments.of(kind, count)))
        .toList();
  }

  @ParameterizedTest(name = "{0} from {1} addresses")
  @MethodSource("floods")
  @Tag("attack")
  @DisplayName(
      "polisctl answers within 2 s and memory stays bounded while all ports are flooded at once: half-open, silent, open calls, endless heads")
  void polisctlAnswers(Flood.Kind kind, int sources) throws Exception {
    answers();
    Map<String, Integer> idle = counts();
    Map<String, Integer> most = new TreeMap<>();
    List<Duration> answers = new ArrayList<>();
    long resident = before.residentKib();
    long etcd = 0;
    MachineSpeed speed = MachineSpeed.measure();
    // Each flood has addresses of its own, since the node remembers the number of connections from
    // each.
    String from = "127.0.%d.".formatted(FIRST_SOURCES + flooded++);
    long began = System.nanoTime();
    try (Flood flood = Flood.begin(kind, node, from, sources, CONNECTIONS / sources)) {
      String missing = "not checked yet";
      for (int round = 0; round < ROUNDS || !missing.isEmpty(); round++) {
        answers.addAll(answers());
        counts().forEach((what, count) -> most.merge(what, count, Math::max));
        resident = Math.max(resident, Footprint.residentKib(node.pid()));
        etcd = Math.max(etcd, Footprint.residentKib(node.etcd().getFirst().pid()));
        missing = missing(flood, kind, idle, most);
        if (System.nanoTime() - began > FaultNode.PATIENCE.toNanos()) {
          throw new AssertionError("the flood never was one: " + missing);
        }
      }
      Collections.sort(answers);
      System.out.printf(
          "%s from %d addresses, %d connections tried for %d ms: the node held %d of strangers with %d calls, etcd %d; of %d answers p50 %d ms, slowest %d ms; node %d KiB, etcd %d KiB%n",
          kind,
          sources,
          flood.tried(),
          Duration.ofNanos(System.nanoTime() - began).toMillis(),
          most.get(STRANGERS),
          most.get(CALLS),
          flood.held(Flood.OF_ETCD),
          answers.size(),
          answers.get(answers.size() / 2).toMillis(),
          answers.getLast().toMillis(),
          resident,
          etcd);
    }
    speed.assertWithin("polisctl answered", PROMISED, answers.getLast());
    long limit = before.residentKib() + Footprint.OF_A_FRESH_NODE_KIB;
    assertTrue(resident < limit, "the node took %d KiB of %d".formatted(resident, limit));
    assertTrue(etcd < ETCD_KIB, "etcd took %d KiB of %d".formatted(etcd, ETCD_KIB));
    node.requireAlive();
    node.awaitNoMoreThan(before);
  }

  /** Returns the missing connections or calls of a flood; empty if it is complete. */
  private static String missing(
      Flood flood, Flood.Kind kind, Map<String, Integer> idle, Map<String, Integer> most)
      throws Exception {
    List<String> missing = new ArrayList<>();
    require(missing, "places tried", flood.tried(), flood.connections());
    require(missing, "connections that the node counts", most.get(STRANGERS), HELD);
    switch (kind) {
      case HALF_OPEN ->
          require(
              missing,
              "connections to etcd",
              flood.held(Flood.OF_ETCD),
              (long) Flood.OF_ETCD.size() * CONNECTIONS);
      case SILENT, ENDLESS_HEADS -> require(missing, "handshakes", flood.greeted(), GREETED);
      case OPEN_CALLS -> {
        require(missing, "calls that the node counts", most.get(CALLS), HELD);
        for (FuzzMethod method : Flood.openMethods()) {
          String calls = CALLS_OF.formatted(method.name());
          require(missing, method.name(), most.get(calls), idle.get(calls) + 1L);
        }
      }
    }
    if (!flood.refusal().isEmpty()) {
      missing.add(flood.refusal());
    }
    return String.join("; ", missing);
  }

  private static void require(List<String> missing, String what, long is, long wanted) {
    if (is < wanted) {
      missing.add("%d of %d %s".formatted(is, wanted, what));
    }
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
      Finished answer = node.ctlHere(command.toArray(String[]::new));
      answers.add(Duration.ofNanos(System.nanoTime() - began));
      assertEquals(0, answer.code(), () -> command + ": " + answer.all());
      // These words would mean that the cluster did not answer, and another source did.
      assertFalse(answer.err().contains("was not asked"), () -> command + ": " + answer.all());
    }
    return answers;
  }

  /** Returns the node's own current count, of all its ports together. */
  private static Map<String, Integer> counts() throws Exception {
    String page = "https://%s:%d/metrics/core".formatted(node.address(), FaultNode.METRICS);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(page)).timeout(FaultNode.PATIENCE).build();
    Map<String, Integer> counts = new TreeMap<>();
    metrics
        .send(request, BodyHandlers.ofLines())
        .body()
        .filter(line -> line.startsWith("polis_rpc_"))
        .map(line -> PORT.matcher(line).replaceAll("").split(" "))
        .forEach(count -> counts.merge(count[0], (int) Double.parseDouble(count[1]), Integer::sum));
    return counts;
  }
}
