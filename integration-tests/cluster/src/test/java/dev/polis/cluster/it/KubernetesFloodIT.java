package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.MachineSpeed;
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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Floods the ports of a Kubernetes node with connections, and calls the node and its API server
 * meanwhile. The long form, {@code polis test --long}, opens 10,000 connections at each port of the
 * node and of its worker's sandbox; the short one 2,000.
 */
@Tag("full")
@Tag("longer")
class KubernetesFloodIT {
  private static final boolean LONG = Tier.isLong();
  private static final int CONNECTIONS = LONG ? 10_000 : 2_000;

  /** The ports that a node with both roles has at least. */
  private static final Set<Integer> KNOWN = Set.of(6443, 6444, 6445, 10_250);

  /** The ports of the node itself, which StrangerFloodIT floods. */
  private static final Set<Integer> OTHERS = Set.of(7833, 7834, 7835, 7837, 7839, 7840);

  /** The promised time of each answer. */
  private static final Duration PROMISED = Duration.ofSeconds(2);

  /** Longer than polisctl's own 15 s, so that a slow answer is measured. */
  private static final String TIMEOUT = "--timeout=60";

  /**
   * Addresses for documentation (RFC 5737), since the sandbox of a worker answers no loopback
   * address.
   */
  private static final String SOURCES = "198.51.100.";

  private static final Duration PATIENCE = Duration.ofSeconds(80);

  @TempDir static Path directory;
  private static KubernetesNode node;
  private static InetSocketAddress server;
  private static Path kubelet;

  @BeforeAll
  static void start() throws Exception {
    KubernetesNode.assumeSupported();
    node = KubernetesNode.started(directory.resolve("n"), "127.0.70.1");
    node.awaitReady();
    for (int source = 1; source <= ConnectionFlood.SOURCES; source++) {
      run("ip", "address", "add", SOURCES + source + "/32", "dev", "lo");
    }
    String found =
        node.said(
            "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses[0]}");
    server = new InetSocketAddress(found, 6443);
    kubelet = node.node().state().resolve("data/kubernetes-worker/kubelet.kubeconfig");
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      for (int source = 1; source <= ConnectionFlood.SOURCES; source++) {
        run("ip", "address", "delete", SOURCES + source + "/32", "dev", "lo");
      }
      node.close();
    }
  }

  private static Finished run(String... command) throws IOException, InterruptedException {
    return Finished.of(List.of(command), Map.of(), PATIENCE);
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "polisctl and the API server answer within 2 s while 16 addresses flood a port of Kubernetes")
  void answersUnderAFlood() throws Exception {
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

  /** Returns the addresses at which the node and its worker's sandbox listen. */
  private static Set<String> listeners() throws Exception {
    Set<String> found = new TreeSet<>();
    String loopback = node.node().address() + ":";
    String host = server.getHostString() + ":";
    run("ss", "-Hltn")
        .requireSuccess("ss")
        .out()
        .lines()
        .map(KubernetesFloodIT::local)
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
        .map(KubernetesFloodIT::local)
        .map(each -> each.replaceFirst("^(\\*|0\\.0\\.0\\.0|\\[::\\]):", worker + ":"))
        .filter(each -> each.startsWith(worker + ":"))
        .forEach(found::add);
    return found;
  }

  private static String local(String line) {
    // The JVM's sockets are IPv6, with IPv4 addresses mapped into it.
    return line.split("\\s+")[3].replaceFirst("^\\[::ffff:([0-9.]+)]", "$1");
  }

  private static void flood(InetSocketAddress target) throws Exception {
    List<Duration> own = new ArrayList<>();
    List<Duration> api = new ArrayList<>();
    // The first answers read classes and programs from the disk.
    ask(own, api);
    own.clear();
    api.clear();
    MachineSpeed speed = MachineSpeed.measure();
    try (ConnectionFlood flood = ConnectionFlood.begin(target, SOURCES, CONNECTIONS)) {
      do {
        ask(own, api);
      } while (!flood.over());
      // Measures also while the rest of the flood is held.
      ask(own, api);
      Collections.sort(own);
      Collections.sort(api);
      System.out.printf(
          "%s: of %d connections %d were open, %d still are; of %d answers of the node p50 %d ms, slowest %d ms; of %d of the API server p50 %d ms, slowest %d ms; API server %d KiB, kubelet %d KiB%n",
          target,
          CONNECTIONS,
          flood.opened(),
          flood.held(),
          own.size(),
          own.get(own.size() / 2).toMillis(),
          own.getLast().toMillis(),
          api.size(),
          api.get(api.size() / 2).toMillis(),
          api.getLast().toMillis(),
          residentKib("kube-apiserver"),
          residentKib("kubelet"));
      assertEquals(CONNECTIONS, flood.opened(), flood::refusal);
    }
    speed.assertWithin(target + ": polisctl answered", PROMISED, own.getLast());
    speed.assertWithin(target + ": the API server answered", PROMISED, api.getLast());
  }

  private static long residentKib(String program) throws IOException {
    long pid = node.node().children(program).getFirst().pid();
    return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .map(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  private static void ask(List<Duration> ofNode, List<Duration> ofApi) throws Exception {
    ofNode.add(timed(() -> node.node().ctl("node", "list", TIMEOUT), "polisctl node list"));
    // Calls the API server itself as the worker's kubelet, and the port for users as the owner.
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
}
