package dev.polis.cluster.it;

import dev.polis.fixtures.Finished;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Stands for a machine that belongs to one node: a network, a mount and a PID namespace, with
 * Debian's tools and one network device; writes to {@code /etc}, {@code /run} and {@code /var}
 * disappear with it. All of its processes end with it.
 */
final class OwnMachine implements AutoCloseable {

  /** An address of this network only. */
  static final String ADDRESS = "10.213.0.1";

  private static final String READY = "the machine is up";

  /** Takes a root with the tools, and an empty folder. */
  private static final String SETUP =
      """
      set -e
      mount -t tmpfs polis-machine "$2"
      for each in etc var; do
        mkdir -p "$2/$each/upper" "$2/$each/work"
        mount -t overlay -o "lowerdir=/$each,upperdir=$2/$each/upper,workdir=$2/$each/work" polis-machine "/$each"
      done
      mount -t overlay -o "lowerdir=$1/usr:/usr" polis-machine /usr
      mount -t tmpfs polis-machine /run
      ip link set lo up
      ip link add eth0 type veth peer name cable
      ip link set cable up
      ip address add %s/24 dev eth0
      ip link set eth0 up
      ip route add default dev eth0
      echo "%s"
      sleep infinity &
      wait
      """
          .formatted(ADDRESS, READY);

  private static final Pattern OWN = Pattern.compile("^\\S+ /(etc|run|usr|var)[/ ]");

  /** Long, since a node with many processes takes a while to end on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  private final Process process;
  private final long first;

  private OwnMachine(Process process, long first) {
    this.process = process;
    this.first = first;
  }

  /**
   * Starts it.
   *
   * @param tools a root with the programs that a worker calls
   * @param empty a folder
   */
  static OwnMachine started(Path tools, Path empty) throws IOException {
    Process process =
        new ProcessBuilder(
                "unshare",
                "--net",
                "--mount",
                "--propagation",
                "slave",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                SETUP,
                "machine",
                tools.toString(),
                empty.toString())
            .redirectErrorStream(true)
            .start();
    BufferedReader said =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    List<String> lines = new ArrayList<>();
    for (String line = said.readLine(); line != null; line = said.readLine()) {
      if (line.equals(READY)) {
        return new OwnMachine(process, process.children().findFirst().orElseThrow().pid());
      }
      lines.add(line);
    }
    throw new AssertionError("no machine of namespaces was made: " + lines);
  }

  /** Returns the command line that runs a command on this machine. */
  List<String> command(List<String> command) {
    return Stream.concat(
            Stream.of(
                "nsenter", "--target", Long.toString(first), "--net", "--mount", "--pid", "--"),
            command.stream())
        .toList();
  }

  Finished run(List<String> command) throws Exception {
    return Finished.of(command(command), Map.of(), PATIENCE);
  }

  private String said(String... command) throws Exception {
    return run(List.of(command)).requireSuccess(String.join(" ", command)).out();
  }

  /** Returns the rules by which it filters and changes packets. */
  String firewall() throws Exception {
    // Empty tables are left out, since programs that list iptables' rules make them.
    return said("nft", "list", "ruleset").replaceAll("table \\S+ \\S+ \\{\n\\}\n", "");
  }

  /** Returns its network devices, their addresses, and how packets are routed. */
  String network() throws Exception {
    // Leaves out times and random values.
    return said(
        "sh", "-c", "ip -brief link | cut -d' ' -f1; ip -4 -brief address; ip rule; ip -4 route");
  }

  /** Returns the mounts below a folder, and below the machine's writable folders. */
  String mounts(Path folder) throws Exception {
    // Leaves out other tests' mounts, which are visible here, too.
    return said("cat", "/proc/self/mounts")
        .lines()
        .filter(line -> line.contains(folder.toString()) || OWN.matcher(line).find())
        .collect(Collectors.joining("\n"));
  }

  /** Returns the command lines of all processes but those of the machine itself. */
  String processes() throws Exception {
    return said("ps", "-e", "-o", "pid=,args=")
        .lines()
        .filter(line -> !line.contains("sleep infinity") && !line.contains("ps -e -o"))
        .collect(Collectors.joining("\n"));
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
