package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Floods the ports of a Kubernetes node with connections and asks the node and its API server
 * meanwhile. The long form, {@code polis test --long}, opens 10,000 connections at each port of the
 * node and of its worker's sandbox; the short one 2,000.
 */
final class KubernetesFlood implements AutoCloseable {
  private static final boolean LONG = Tier.isLong();
  private static final int CONNECTIONS = LONG ? 10_000 : 2_000;

  /** Those that a node with both roles has, whatever else it listens at. */
  private static final Set<Integer> KNOWN = Set.of(6443, 6444, 6445, 10_250);

  /** Those of the node itself, which StrangerFloodIT floods. */
  private static final Set<Integer> OTHERS = Set.of(7833, 7834, 7835, 7837, 7839, 7840);

  /** What is promised of each answer. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** What half of them may take: the short form runs beside other tests, on any machine. */
  private static final Duration MEDIAN = LONG ? PROMISED : Duration.ofSeconds(10);

  /** What the slowest may take: a machine that runs several tests at once stalls now and then. */
  private static final Duration SLOWEST = LONG ? PROMISED : Duration.ofSeconds(60);

  /** So that a slow answer is measured: by itself polisctl waits for 15 s. */
  private static final String TIMEOUT = "--timeout=60";

  /** Addresses for documentation, RFC 5737; the sandbox of a worker answers no loopback address. */
  private static final String SOURCES = "198.51.100.";

  private static final Duration PATIENCE = SLOWEST.plusSeconds(20);

  private final KubernetesNode node;
  private final InetSocketAddress server;
  private final Path kubelet;

  private KubernetesFlood(KubernetesNode node, InetSocketAddress server, Path kubelet) {
    this.node = node;
    this.server = server;
    this.kubelet = kubelet;
  }

  /** Gives the machine the addresses that the flood comes from. */
  static KubernetesFlood prepare(KubernetesNode node) throws Exception {
    for (int source = 1; source <= ConnectionFlood.SOURCES; source++) {
      run("ip", "address", "add", SOURCES + source + "/32", "dev", "lo");
    }
    String server =
        node.said("get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses}");
    try (Stream<Path> files = Files.walk(node.node().state())) {
      Path kubelet =
          files
              .filter(file -> file.endsWith("kubernetes-worker/kubelet.kubeconfig"))
              .findFirst()
              .orElseThrow();
      return new KubernetesFlood(
          node, new InetSocketAddress(server.replaceAll("[^0-9.]", ""), 6443), kubelet);
    }
  }

  private static Finished run(String... command) throws IOException, InterruptedException {
    return Finished.of(List.of(command), Map.of(), PATIENCE);
  }

  void run() throws Exception {
    Set<String> listeners = listeners();
    System.out.println("ports of a Kubernetes node beyond loopback: " + listeners);
    Set<Integer> flooded = new TreeSet<>();
    for (String listener : listeners) {
      int colon = listener.lastIndexOf(':');
      int port = Integer.parseInt(listener.substring(colon + 1));
      if (!OTHERS.contains(port)) {
        flooded.add(port);
        flood(new InetSocketAddress(listener.substring(0, colon), port));
      }
    }
    assertTrue(flooded.containsAll(KNOWN), "flooded were only " + flooded + " of " + listeners);
  }

  /** Returns where the node and its worker's sandbox listen. */
  private Set<String> listeners() throws Exception {
    Set<String> found = new TreeSet<>();
    String loopback = node.node().address() + ":";
    String host = server.getHostString() + ":";
    run("ss", "-Hltn")
        .requireSuccess("ss")
        .out()
        .lines()
        .map(KubernetesFlood::local)
        .filter(each -> each.startsWith(loopback) || each.startsWith(host))
        .forEach(found::add);
    long pid = node.node().children("kubelet").getFirst().pid();
    String worker =
        node.said(
            "get",
            "nodes",
            "-o",
            "jsonpath={.items[0].status.addresses[?(@.type==\"InternalIP\")].address}");
    run("nsenter", "--net=/proc/" + pid + "/ns/net", "ss", "-Hltn")
        .requireSuccess("ss in the sandbox")
        .out()
        .lines()
        .map(KubernetesFlood::local)
        .map(each -> each.replaceFirst("^(\\*|0\\.0\\.0\\.0|\\[::\\]):", worker + ":"))
        .filter(each -> each.startsWith(worker + ":"))
        .forEach(found::add);
    return found;
  }

  private static String local(String line) {
    // The JVM's sockets are of IPv6, with the other addresses mapped into it.
    return line.split("\\s+")[3].replaceFirst("^\\[::ffff:([0-9.]+)]", "$1");
  }

  private void flood(InetSocketAddress target) throws Exception {
    List<Duration> node = new ArrayList<>();
    List<Duration> api = new ArrayList<>();
    // The first answers read classes and programs from the disk.
    ask(node, api);
    node.clear();
    api.clear();
    try (ConnectionFlood flood = ConnectionFlood.begin(target, SOURCES, CONNECTIONS)) {
      do {
        ask(node, api);
      } while (!flood.over());
      // Also while all that is left of the flood is held.
      ask(node, api);
      assertEquals(CONNECTIONS, flood.tried());
      Collections.sort(node);
      Collections.sort(api);
      System.out.printf(
          "%s: %d connections; of %d answers of the node p50 %d ms, slowest %d ms; of %d of the API server p50 %d ms, slowest %d ms; API server %d KiB, kubelet %d KiB%n",
          target,
          CONNECTIONS,
          node.size(),
          node.get(node.size() / 2).toMillis(),
          node.getLast().toMillis(),
          api.size(),
          api.get(api.size() / 2).toMillis(),
          api.getLast().toMillis(),
          residentKib("kube-apiserver"),
          residentKib("kubelet"));
    }
    check(target + ", polisctl", node);
    check(target + ", API server", api);
  }

  private long residentKib(String program) throws IOException {
    long pid = node.node().children(program).getFirst().pid();
    return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .map(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  private static void check(String what, List<Duration> answers) {
    Duration median = answers.get(answers.size() / 2);
    Duration slowest = answers.getLast();
    assertTrue(
        median.compareTo(MEDIAN) < 0, what + ": half of the answers took more than " + median);
    assertTrue(slowest.compareTo(SLOWEST) < 0, what + ": the slowest answer took " + slowest);
  }

  private void ask(List<Duration> ofNode, List<Duration> ofApi) throws Exception {
    ofNode.add(timed(() -> node.node().ctl("node", "list", TIMEOUT), "polisctl node list"));
    // The API server itself, as the worker's kubelet; and by the port for users, as the owner.
    ofApi.add(
        timed(
            () ->
                run(
                    node.program("kubectl").toString(),
                    "--kubeconfig=" + kubelet,
                    "--server=https://%s:%d".formatted(server.getHostString(), server.getPort()),
                    "get",
                    "node",
                    node.node().id()),
            "the API server itself"));
    ofApi.add(timed(() -> node.kubectl("get", "node", node.node().id()), "the API server by 6444"));
  }

  private interface Question {
    Finished ask() throws Exception;
  }

  private static Duration timed(Question question, String what) throws Exception {
    long began = System.nanoTime();
    question.ask().requireSuccess(what);
    return Duration.ofNanos(System.nanoTime() - began);
  }

  @Override
  public void close() throws IOException {
    try {
      for (int source = 1; source <= ConnectionFlood.SOURCES; source++) {
        run("ip", "address", "delete", SOURCES + source + "/32", "dev", "lo");
      }
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
    }
  }
}
