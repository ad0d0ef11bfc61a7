package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.process.Commands;
import dev.polis.process.ProgramPath;
import dev.polis.wire.storage.DhcpLeases;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the organ against dnsmasq, each in a network namespace of its own, with a cable between. */
@Tag("full")
class DhcpServerTest {

  private static final String DHCP = "configure interface { name: 'eth0' ipv4_autoconfig {} }";

  @TempDir private Path folder;

  private final List<Process> processes = new ArrayList<>();
  private Process serverSide;
  private Process nodeSide;
  private Process server;
  private Process node;
  private BufferedReader answers;
  private int servers;

  @BeforeEach
  void connect() throws Exception {
    Needs.root("making a network namespace");
    Assumptions.assumeTrue(
        new Commands().has("dnsmasq"),
        "a DHCP server needs dnsmasq: install the package dnsmasq-base");
    serverSide = namespace();
    nodeSide = namespace();
    in(
        serverSide,
        "ip link add eth0 type veth peer name eth0 netns " + nodeSide.pid(),
        "ip address add 192.0.2.1/24 dev eth0",
        "ip link set eth0 up");
    // With this filter the kernel delivers no answer to a socket of UDP without an address.
    in(nodeSide, "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
  }

  @AfterEach
  void end() throws IOException {
    processes.reversed().forEach(Process::destroyForcibly);
    // A node leaves its children alone when it ends.
    if (Files.exists(chronyd())) {
      ProcessHandle.of(Long.parseLong(Files.readString(chronyd()).strip()))
          .ifPresent(ProcessHandle::destroy);
    }
  }

  /** Returns the path of the file with the process id of chronyd. */
  private Path chronyd() {
    return folder.resolve("state/ephemeral/clock/pid");
  }

  private Process start(List<String> command) throws IOException {
    Process process =
        new ProcessBuilder(Commands.located(command)).redirectErrorStream(true).start();
    processes.add(process);
    return process;
  }

  private Process namespace() throws IOException {
    Process process = start(List.of("unshare", "--net", "sh", "-c", "echo ready; exec cat"));
    assertEquals("ready", process.inputReader().readLine());
    return process;
  }

  private static List<String> inside(Process namespace, String... command) {
    List<String> line =
        new ArrayList<>(List.of("nsenter", "--net", "--target", Long.toString(namespace.pid())));
    line.addAll(List.of(command));
    return line;
  }

  /** Runs commands in a namespace, and returns what they print. */
  private String in(Process namespace, String... commands) throws Exception {
    Process shell = start(inside(namespace, "sh", "-e", "-c", String.join("\n", commands)));
    String printed = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, shell.waitFor(), printed);
    return printed;
  }

  /** Starts a server that remembers nothing, whose clients renew after 3 s and rebind after 4 s. */
  private void serve(String first, String last) throws Exception {
    servers++;
    server =
        start(
            inside(
                serverSide,
                Commands.located(List.of("dnsmasq")).getFirst(),
                "--no-daemon",
                "--conf-file=/dev/null",
                "--user=root",
                "--port=0",
                "--interface=eth0",
                "--bind-interfaces",
                "--no-ping",
                "--dhcp-authoritative",
                "--dhcp-range=" + first + "," + last + ",255.255.255.0,2m",
                "--dhcp-option=option:router,192.0.2.1",
                "--dhcp-option=option:dns-server,192.0.2.53",
                "--dhcp-option=option:ntp-server,192.0.2.123",
                "--dhcp-option=58,2",
                "--dhcp-option=59,4",
                "--dhcp-leasefile=" + folder.resolve("leases" + servers),
                "--log-facility=" + log()));
    Await.until(
        "dnsmasq serves", () -> Files.exists(log()) && Files.readString(log()).contains("range"));
  }

  private Path log() {
    return folder.resolve("dnsmasq" + servers + ".log");
  }

  private long logged(String message) throws IOException {
    return Files.readString(log()).lines().filter(line -> line.contains(message + "(")).count();
  }

  private void startNode() throws Exception {
    node =
        start(
            inside(
                nodeSide,
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                DhcpNodeMain.class.getName(),
                folder.resolve("state").toString()));
    answers = node.inputReader();
  }

  private String order(String command) throws IOException {
    node.outputWriter().write(command + "\n");
    node.outputWriter().flush();
    StringBuilder before = new StringBuilder();
    for (String line = answers.readLine(); line != null; line = answers.readLine()) {
      if (line.startsWith("Up[") || line.startsWith("Waiting[")) {
        return line;
      }
      before.append(line).append('\n');
    }
    throw new AssertionError("the node has ended: " + before);
  }

  private void awaitShown(String what, Predicate<String> shown) throws Exception {
    Await.until(Duration.ofSeconds(60), what, () -> shown.test(order("show")), () -> order("log"));
  }

  private void awaitAddress(String prefix) throws Exception {
    awaitShown(
        "the node has an address of " + prefix,
        shown -> shown.startsWith("Up[externalAddress=/" + prefix));
  }

  private static boolean asksTime(String shown) {
    return shown.contains("clock-not-synchronised(")
        && shown.contains("no time server answers as most of them do: 192.0.2.123");
  }

  private String addresses() throws Exception {
    return in(nodeSide, "ip -4 -oneline address show dev eth0");
  }

  @Test
  @DisplayName(
      "D-28 a node without a configuration names its cards if it has several, and takes an address as soon as it has one; a swap, a silent server, a refusal and another address are survived")
  void withoutConfiguration() throws Exception {
    serve("192.0.2.50", "192.0.2.59");
    in(nodeSide, "ip link add eth1 type veth peer name eth9 netns " + serverSide.pid());
    startNode();
    awaitShown(
        "the node names its cards",
        shown ->
            shown.startsWith("Waiting[")
                && shown.contains("several-cards(")
                && shown.contains("(eth0, eth1)"));
    in(nodeSide, "ip link delete eth1");

    awaitAddress("192.0.2.5");
    assertTrue(addresses().contains("scope global dynamic"), addresses());
    String route = in(nodeSide, "ip route show default");
    assertTrue(route.contains("via 192.0.2.1 dev eth0 proto dhcp"), route);
    Path resolver = folder.resolve("state/resolv.conf");
    Await.until(
        "the name server is written",
        () -> Files.exists(resolver) && Files.readString(resolver).contains("192.0.2.53"));
    Await.until("the lease is renewed", () -> logged("DHCPACK") >= 2);

    String swapped = order("swap");
    assertTrue(swapped.startsWith("Up[externalAddress=/192.0.2.5"), swapped);
    awaitShown("the successor shows the lease", shown -> shown.contains("dhcp-lease("));
    long acknowledged = logged("DHCPACK");
    Await.until("the successor renews the lease", () -> logged("DHCPACK") > acknowledged);
    assertEquals(1, logged("DHCPDISCOVER"), Files.readString(log()));

    server.destroy();
    server.waitFor();
    awaitShown("the silence is shown", shown -> shown.contains("dhcp-server-silent("));
    assertTrue(addresses().contains("inet 192.0.2.5"), addresses());

    serve("192.0.2.80", "192.0.2.89");
    awaitAddress("192.0.2.8");
    assertTrue(logged("DHCPNAK") >= 1, Files.readString(log()));
    assertFalse(addresses().contains("inet 192.0.2.5"), addresses());
  }

  @Test
  @Tag("full")
  @DisplayName(
      "a node to which no time server is named asks the one that DHCP offers, in a swap, too")
  void offeredTimeServer() throws Exception {
    Assumptions.assumeTrue(
        ProgramPath.find("", List.of(MachineClock.PROCESS)).isPresent(),
        "a time server needs chronyd: install the package chrony");
    serve("192.0.2.50", "192.0.2.59");
    startNode();
    awaitShown("the offered time server is asked", DhcpServerTest::asksTime);
    Path pid = chronyd();
    String process = Files.readString(pid);
    order("swap");
    awaitShown("the successor asks it, too", DhcpServerTest::asksTime);
    assertEquals(process, Files.readString(pid), "the process of chronyd");
  }

  @Test
  @DisplayName(
      "a start asks for the stored address first, uses it without a server until the end of the lease, and loses it then")
  void starts() throws Exception {
    serve("192.0.2.50", "192.0.2.59");
    startNode();
    awaitAddress("192.0.2.5");
    order(DHCP); // The same card, so the lease stays.
    awaitAddress("192.0.2.5");
    node.destroyForcibly().waitFor();
    in(nodeSide, "ip address flush dev eth0"); // as after a start of the machine
    startNode();
    awaitAddress("192.0.2.5");
    assertEquals(1, logged("DHCPDISCOVER"), Files.readString(log()));

    node.destroyForcibly().waitFor();
    server.destroy();
    server.waitFor();
    in(nodeSide, "ip address flush dev eth0");
    // After 10 s the node no longer waits for a server; its start takes seconds on a busy machine.
    endsWithin(Duration.ofSeconds(40));
    startNode();
    awaitAddress("192.0.2.5");
    awaitShown(
        "the end of the lease is shown",
        shown -> shown.startsWith("Waiting[") && shown.contains("dhcp-no-lease(eth0"));
    assertEquals("", addresses());
    assertEquals("", in(nodeSide, "ip route show proto dhcp"));
  }

  /** Changes the stored lease of 120 s so that it ends soon. */
  private void endsWithin(Duration left) throws IOException {
    Path file = folder.resolve("state/esp/dhcp_leases.pb");
    DhcpLeases.Builder leases = DhcpLeases.parseFrom(Files.readAllBytes(file)).toBuilder();
    leases
        .getLeaseBuilder(0)
        .getObtainedAtBuilder()
        .setSeconds(Instant.now().minusSeconds(120).plus(left).getEpochSecond());
    Files.write(file, leases.build().toByteArray());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "offers and bytes by chance, as fast as the link takes them, neither end the client nor occupy a processor, and a server is heard after them")
  void flood() throws Exception {
    startNode();
    order(DHCP);
    Process stranger =
        start(
            inside(
                serverSide,
                ProcessHandle.current().info().command().orElseThrow(),
                "-cp",
                System.getProperty("java.class.path"),
                DhcpNodeMain.class.getName(),
                "flood",
                "192.0.2.1",
                "192.0.2.255"));
    assertEquals("floods", stranger.inputReader().readLine());
    Duration before = node.info().totalCpuDuration().orElseThrow();
    long packets = sent();
    Await.until("the stranger has sent many packets", () -> sent() - packets > 50_000);
    awaitShown("the node answers", shown -> shown.contains("dhcp-no-lease(eth0"));
    Duration used = node.info().totalCpuDuration().orElseThrow().minus(before);
    // A fifth of a millisecond for each packet would be ten seconds.
    assertTrue(used.compareTo(Duration.ofSeconds(5)) < 0, "the node has used " + used);
    stranger.destroyForcibly().waitFor();

    serve("192.0.2.50", "192.0.2.59");
    awaitAddress("192.0.2.5");
  }

  private long sent() throws Exception {
    return Long.parseLong(in(serverSide, "awk '/eth0:/ { print $11 }' /proc/self/net/dev").strip());
  }
}
