package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
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
 * Floods all ports of one node at once, in each way that a stranger has, from few addresses and
 * from many. A quick run has open calls from few addresses alone; the long form eight times as many
 * connections.
 */
@Tag("longer")
class FloodKindsTest {

  private static final int FEW = 4;
  private static final int MANY = 64;

  /**
   * Connections of all addresses to each port. To the four of the node's own they are as many as
   * strangers have places there.
   */
  private static final int CONNECTIONS = Tier.isLong() ? 512 : 64;

  /** What is promised of each answer. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** So that a slow answer is measured: by itself polisctl waits for 15 s. */
  private static final String TIMEOUT = "--timeout=60";

  private static final int ROUNDS = Tier.isLong() ? 40 : 4;

  /**
   * What a flood has to hold at the same time: half of the 256 places that strangers have at all
   * ports of the node, for connections as for calls. Those to 7840 end within their handshake.
   */
  private static final int HELD = 128;

  /** The same of connections to gRPC whose handshake is made. */
  private static final int GREETED = 64;

  /** A flood fills the log, which has a limit of its own: not so much is to be seen of it. */
  private static final String SMALL_LOG = "dev.polis.logtree.mebibytes=4";

  /** A member of one node with its records, and twice what Go takes for a connection. */
  private static final long ETCD_KIB = (64 << 10) + 24L * Flood.OF_ETCD.size() * CONNECTIONS;

  /** The third number of the addresses of the first flood. */
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

  static Stream<Arguments> floods() {
    return Tier.current() == Tier.QUICK
        ? Stream.of(Arguments.of(Flood.Kind.OPEN_CALLS, FEW))
        : Stream.of(Flood.Kind.values())
            .flatMap(kind -> Stream.of(FEW, MANY).map(count -> Arguments.of(kind, count)));
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
    // Each flood has addresses of its own: the node remembers how many connections came from one.
    String from = "127.0.%d.".formatted(FIRST_SOURCES + flooded++);
    long began = System.nanoTime();
    try (Flood flood = Flood.begin(kind, node, from, sources, CONNECTIONS / sources)) {
      String missing = "what was not looked for yet";
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

  /** Returns what a flood does not hold that it has to; nothing if it is one. */
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

  /** Asks the curator, the node's management and its debug service, each on a new connection. */
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
      // The words of a report that came another way, as the cluster did not answer.
      assertFalse(answer.err().contains("was not asked"), () -> command + ": " + answer.all());
    }
    return answers;
  }

  /** Returns what the node itself counts at this moment, of all its ports together. */
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
