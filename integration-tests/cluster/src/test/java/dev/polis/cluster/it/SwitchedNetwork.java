package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Connects machines, which are network namespaces, by a switch, and loses the packets of one
 * machine to another without a word to either, as a broken cable does. The test itself is one more
 * machine, which all others always reach.
 *
 * <p>Each machine has fixed entries for the hardware addresses of the others. To lose all its
 * packets, an entry gets an address that no machine has, so each direction has a state of its own.
 * A rule of the receiver loses a share of the packets; a queue of the sender delays them, since
 * this kernel has no netem. All of it disappears with this process.
 */
final class SwitchedNetwork implements AutoCloseable {

  /** An address of this network only. */
  private static final String NETWORK = "10.214.0.";

  private static final int TEST = 254;

  private static final String CABLE = "polis-test";

  private static final String READY = "ready";

  /** TCP repeats a packet so often, as on a network that a node owns or polis up --netns makes. */
  private static final int REPETITIONS = 5;

  private static final String DISTURBED = "disturbed";

  private static final Pattern COUNTER = Pattern.compile("counter packets (\\d+)");

  /** Some times what three idle voters send, so that their answers to many calls queue up. */
  private static final String NARROW = "4mbit";

  private static final String OF_NO_MACHINE = "02:00:00:00:00:ff";

  private final Process hub;
  private final List<Process> machines = new ArrayList<>();

  private SwitchedNetwork() throws Exception {
    hub = namespace();
  }

  /** Makes a network of so many machines, the first of which has the number 1. */
  static SwitchedNetwork of(int number) throws Exception {
    SwitchedNetwork made = new SwitchedNetwork();
    try {
      made.connect(number);
      return made;
    } catch (Exception | AssertionError failure) {
      made.close();
      throw failure;
    }
  }

  /** Starts a process in a network namespace of its own, which both end with this process. */
  private static Process namespace() throws IOException {
    Process process =
        new ProcessBuilder(
                "unshare",
                "--net",
                "sh",
                "-c",
                "ip link set lo up && echo %d >/proc/sys/net/ipv4/tcp_retries2 && echo %s && exec cat >/dev/null"
                    .formatted(REPETITIONS, READY))
            .redirectErrorStream(true)
            .start();
    BufferedReader said =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String line = said.readLine();
    if (!READY.equals(line)) {
      process.destroyForcibly();
      throw new AssertionError("no network namespace was made: " + line);
    }
    return process;
  }

  private void connect(int number) throws Exception {
    run(hub, "ip", "link", "add", "switch", "type", "bridge");
    run(hub, "ip", "link", "set", "switch", "up");
    run(
        List.of(
            "ip", "link", "add", CABLE, "type", "veth", "peer", "name", "port0", "netns",
            pid(hub)));
    run(hub, "ip", "link", "set", "port0", "master", "switch", "up");
    run(List.of("ip", "address", "add", address(TEST) + "/24", "dev", CABLE));
    run(List.of("ip", "link", "set", CABLE, "up"));
    for (int each = 1; each <= number; each++) {
      Process machine = namespace();
      machines.add(machine);
      String port = "port" + each;
      String[] cable = {
        "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", pid(machine)
      };
      run(hub, cable);
      run(hub, "ip", "link", "set", port, "master", "switch", "up");
      run(machine, "ip", "link", "set", "eth0", "address", hardware(each));
      run(machine, "ip", "address", "add", address(each) + "/24", "dev", "eth0");
      run(machine, "ip", "link", "set", "eth0", "up");
    }
    for (int from = 1; from <= number; from++) {
      for (int to = 1; to <= number; to++) {
        if (from != to) {
          send(from, to, hardware(to));
        }
      }
    }
  }

  private static String pid(Process process) {
    return Long.toString(process.pid());
  }

  private static String hardware(int machine) {
    return "02:00:00:00:00:%02x".formatted(machine);
  }

  static String address(int machine) {
    return NETWORK + machine;
  }

  /** Returns the addresses of the first machines. */
  static List<String> addresses(int number) {
    return IntStream.rangeClosed(1, number).mapToObj(SwitchedNetwork::address).toList();
  }

  private Process machine(String address) {
    return machines.get(number(address) - 1);
  }

  private static int number(String address) {
    return Integer.parseInt(address.substring(NETWORK.length()));
  }

  /** Lets a node start on the machine that has its address. */
  TestNode placed(TestNode node) {
    return node.behind(within(machine(node.address())));
  }

  private static List<String> within(Process machine) {
    return List.of("nsenter", "--net=/proc/" + machine.pid() + "/ns/net", "--");
  }

  /** Loses all later packets of one machine to another. */
  void lose(TestNode from, TestNode to) throws Exception {
    send(number(from.address()), number(to.address()), OF_NO_MACHINE);
  }

  /** Delivers the packets of one machine to another again. */
  void deliver(TestNode from, TestNode to) throws Exception {
    int target = number(to.address());
    send(number(from.address()), target, hardware(target));
  }

  private void send(int from, int to, String hardware) throws Exception {
    String[] neighbour = {
      "ip", "neigh", "replace", address(to), "lladdr", hardware, "dev", "eth0", "nud", "permanent"
    };
    run(machines.get(from - 1), neighbour);
  }

  /**
   * Loses a share of the packets between the machines, and lets what a machine sends wait in a
   * queue before a narrow way.
   *
   * @param percent the packets of 100 that are lost
   */
  void disturb(int percent) throws Exception {
    String rule =
        "table inet %s { chain %s { type filter hook input priority 0; ip saddr %s1-%s%d numgen random mod 100 < %d counter drop; }; }"
            .formatted(DISTURBED, DISTURBED, NETWORK, NETWORK, machines.size(), percent);
    for (Process machine : machines) {
      run(machine, "nft", rule);
      run(
          machine, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", NARROW, "burst",
          "16kb", "latency", "200ms");
    }
  }

  /** Returns the number of packets lost since the network is disturbed. */
  long lost() throws Exception {
    long lost = 0;
    for (Process machine : machines) {
      Matcher counter =
          COUNTER.matcher(run(machine, "nft", "list", "table", "inet", DISTURBED).out());
      assertTrue(counter.find(), "nft counts no packets");
      lost += Long.parseLong(counter.group(1));
    }
    return lost;
  }

  /** Loses and delays no more packets than a sound network does. */
  void calm() throws Exception {
    for (Process machine : machines) {
      run(machine, "nft", "table inet %s {}; delete table inet %s".formatted(DISTURBED, DISTURBED));
      run(machine, "tc", "qdisc", "replace", "dev", "eth0", "root", "pfifo");
      run(machine, "tc", "qdisc", "delete", "dev", "eth0", "root");
    }
  }

  private static Finished run(Process machine, String... command) throws Exception {
    List<String> line = new ArrayList<>(within(machine));
    line.addAll(List.of(command));
    return run(line);
  }

  private static Finished run(List<String> command) throws Exception {
    return Finished.of(command, Map.of(), TestNode.PATIENCE)
        .requireSuccess(String.join(" ", command));
  }

  @Override
  public void close() {
    machines.forEach(SwitchedNetwork::end);
    end(hub);
  }

  private static void end(Process namespace) {
    namespace.destroyForcibly().onExit().join();
  }
}
