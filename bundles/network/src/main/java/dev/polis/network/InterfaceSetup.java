package dev.polis.network;

import dev.polis.logtree.Log;
import dev.polis.network.StaticNetwork.Adapter;
import dev.polis.network.StaticNetwork.DeviceMatch;
import dev.polis.network.StaticNetwork.Route;
import dev.polis.process.Commands;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Applies a static configuration and the leases of DHCP to the interfaces of this machine or
 * network namespace, with iproute2's {@code ip}. Each change is idempotent, so the node can repeat
 * an interrupted run.
 *
 * <p>It does not use netlink, since the JDK has no netlink socket and each Debian has {@code ip}.
 */
final class InterfaceSetup {

  /**
   * The time for a change in the kernel, which takes milliseconds, or seconds with the load of a
   * driver.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /**
   * How often the kernel repeats a packet. It waits 200 ms, then twice as long each time, and so
   * gives a peer up after 12.6 s, beyond what a sound network loses.
   */
  private static final String REPETITIONS = "5";

  private static final Path REPETITIONS_FILE = Path.of("/proc/sys/net/ipv4/tcp_retries2");

  private static final Path LINKS = Path.of("/sys/class/net");
  private static final int MAX_NAME_SERVERS = 3; // the limit of resolv.conf(5)

  /** Puts the routes of leases behind those of the configuration, as systemd does. */
  private static final int DHCP_METRIC = 1024;

  /** Begins the names of the links between the machine and sandboxes of the organ containers. */
  private static final String SANDBOXES = "polis-";

  /** The kinds of links of ip-link(8) with an Ethernet address that are no way to the network. */
  private static final Set<String> VIRTUAL_KINDS =
      Set.of(
          "bareudp", "bond", "bridge", "dummy", "geneve", "gretap", "hsr", "ifb", "ipvlan",
          "macsec", "macvtap", "team", "tun", "vlan", "vrf", "vxlan");

  /** Stands before the hardware address in a line of ip. */
  private static final String ETHERNET = "link/ether ";

  private final Commands commands;
  private final Path resolverFile;
  private final Log log;

  InterfaceSetup(Commands commands, Path resolverFile, Log log) {
    this.commands = commands;
    this.resolverFile = resolverFile;
    this.log = log;
  }

  /** Starts the loopback interface, which is down in a new network namespace. */
  void startLoopback() throws IOException, InterruptedException {
    ip("link", "set", "dev", "lo", "up");
  }

  /**
   * Lets TCP end a connection whose peer has been silent for 13 s, instead of a quarter of an hour.
   *
   * <p>The streams between the members of etcd have no limit of their own. After a cut of the
   * network, they continue only with the next repetition of a packet, and the kernel waits for that
   * as long as the cut has lasted. A stream that has ended is connected anew within two seconds.
   */
  void giveSilentPeersUp() {
    try {
      Files.writeString(REPETITIONS_FILE, REPETITIONS);
    } catch (IOException refused) {
      log.warning(
          "%s cannot be set to %s: %s; after a cut of the network this node needs longer to return",
          REPETITIONS_FILE, REPETITIONS, refused.getMessage());
    }
  }

  /**
   * Describes a link of the kernel.
   *
   * @param hardwareAddress the hardware address with colons, in lower case; may be empty
   */
  private record Link(String name, String hardwareAddress) {

    boolean matches(DeviceMatch.ByProperties wanted) throws IOException {
      boolean address =
          wanted.hardwareAddress().isEmpty()
              || hardwareAddress.equals(wanted.hardwareAddress().toLowerCase(Locale.ROOT));
      Path driver = LINKS.resolve(name).resolve("device/driver");
      boolean program =
          wanted.driver().isEmpty()
              || Files.exists(driver)
                  && driver.toRealPath().getFileName().toString().equals(wanted.driver());
      return address && program;
    }
  }

  /**
   * Finds the adapter of each configured interface.
   *
   * @param problems receives one line for each missing adapter
   * @return kernel names in the order of the configuration
   */
  List<String> find(StaticNetwork network, List<String> problems)
      throws IOException, InterruptedException {
    List<Link> links = links();
    List<String> found = new ArrayList<>();
    for (Adapter adapter : network.adapters()) {
      List<Link> matching = new ArrayList<>();
      for (Link link : links) {
        boolean matches =
            switch (adapter.device()) {
              case DeviceMatch.ByName() -> link.name().equals(adapter.name());
              case DeviceMatch.ByProperties properties -> link.matches(properties);
            };
        if (matches) {
          matching.add(link);
        }
      }
      int index =
          adapter.device() instanceof DeviceMatch.ByProperties properties ? properties.index() : 0;
      if (index < matching.size()) {
        found.add(matching.get(index).name());
      } else {
        problems.add(missing(adapter, matching.size(), index, links));
      }
    }
    return found;
  }

  private static String missing(Adapter adapter, int matching, int index, List<Link> links) {
    String there =
        links.isEmpty()
            ? "none but loopback"
            : links.stream().map(Link::name).collect(Collectors.joining(", "));
    return switch (adapter.device()) {
      case DeviceMatch.ByName() ->
          "%s.name is \"%s\", but this machine has no such network adapter; it has %s"
              .formatted(adapter.field(), adapter.name(), there);
      case DeviceMatch.ByProperties _ ->
          "%s.device matches %d network adapters, so there is none with index %d; there are %s"
              .formatted(adapter.field(), matching, index, there);
    };
  }

  /** Returns all links except loopback, in the kernel's order. */
  private List<Link> links() throws IOException, InterruptedException {
    List<Link> links = new ArrayList<>();
    for (String line : ip("-oneline", "link", "show").lines().toList()) {
      // 3: eth0@eth1: <BROADCAST,MULTICAST> mtu 1500 … link/ether 52:54:00:12:34:56 brd …
      String name = line.split(": ", 3)[1].split("@", 2)[0];
      if (!line.contains("<LOOPBACK")) {
        links.add(new Link(name, line.contains(ETHERNET) ? following(line, ETHERNET.strip()) : ""));
      }
    }
    return links;
  }

  /**
   * Applies the configuration to the interfaces.
   *
   * @param links the kernel names of the adapters from {@link #find}
   */
  void apply(StaticNetwork network, List<String> links) throws IOException, InterruptedException {
    for (int i = 0; i < network.adapters().size(); i++) {
      Adapter adapter = network.adapters().get(i);
      String name = adapter.name();
      if (!links.get(i).equals(name)) {
        ip("link", "set", "dev", links.get(i), "down");
        ip("link", "set", "dev", links.get(i), "name", name);
      }
      if (adapter.mtu() > 0) {
        ip("link", "set", "dev", name, "mtu", Integer.toString(adapter.mtu()));
      }
      ip("link", "set", "dev", name, "up");
      addresses(adapter);
    }
    // A gateway may be on the network of an interface that comes later in the configuration.
    for (Adapter adapter : network.adapters()) {
      routes(adapter);
    }
    log.info("the network is now configured: %s", network);
  }

  private void addresses(Adapter adapter) throws IOException, InterruptedException {
    Set<IpPrefix> wanted = new HashSet<>(adapter.addresses());
    for (IpPrefix address : adapter.addresses()) {
      ip("address", "replace", address.toString(), "dev", adapter.name());
    }
    for (String line :
        ip("-oneline", "address", "show", "dev", adapter.name(), "scope", "global")
            .lines()
            .toList()) {
      String present = following(line, line.contains(" inet6 ") ? "inet6" : "inet");
      boolean leased = adapter.dhcp() && isLeased(line);
      if (!leased && !wanted.contains(IpPrefix.parse(present))) {
        ip("address", "delete", present, "dev", adapter.name());
      }
    }
  }

  private void routes(Adapter adapter) throws IOException, InterruptedException {
    Set<IpPrefix> wanted = new HashSet<>();
    for (Route route : adapter.routes()) {
      wanted.add(route.destination());
      List<String> command =
          new ArrayList<>(List.of("route", "replace", route.destination().toString()));
      addIf(command, "via", route.gateway());
      command.addAll(List.of("dev", adapter.name()));
      addIf(command, "src", route.source());
      addIf(command, "metric", route.metric() == 0 ? "" : Integer.toString(route.metric()));
      command.addAll(List.of("proto", "static"));
      ip(command.toArray(String[]::new));
    }
    for (String family : List.of("-4", "-6")) {
      for (String line :
          ip(family, "-oneline", "route", "show", "dev", adapter.name(), "proto", "static")
              .lines()
              .toList()) {
        String destination = line.strip().split(" ", 2)[0];
        String all = family.equals("-4") ? "0.0.0.0/0" : "::/0";
        if (!wanted.contains(IpPrefix.parse(destination.equals("default") ? all : destination))) {
          ip(family, "route", "delete", destination, "dev", adapter.name(), "proto", "static");
        }
      }
    }
  }

  // ---- DHCP

  /**
   * Describes an Ethernet card. The JDK's list of interfaces lacks those without an address.
   *
   * @param index its number in the kernel
   * @param hardware its Ethernet address
   * @param carrier whether it is connected
   */
  record Card(int index, byte[] hardware, boolean carrier) {}

  /** Reads the present state of an Ethernet card. */
  Card card(String link) throws IOException, InterruptedException {
    String line = ip("-oneline", "link", "show", "dev", link);
    if (!line.contains(ETHERNET)) {
      throw new IOException(
          "%s is no Ethernet card, so it gets no address by DHCP; configure another one"
              .formatted(link));
    }
    return new Card(
        Integer.parseInt(line.split(": ", 2)[0]),
        HexFormat.ofDelimiter(":").parseHex(following(line, ETHERNET.strip())),
        line.contains("LOWER_UP"));
  }

  /** Starts an interface. */
  void start(String link) throws IOException, InterruptedException {
    ip("link", "set", "dev", link, "up");
  }

  /** Returns whether a line of ip describes an address of IPv4 with a lifetime. */
  private static boolean isLeased(String line) {
    return line.contains(" inet ") && line.contains(" dynamic ");
  }

  /**
   * Gives an interface the address, the routes and the MTU of a lease, and removes those of former
   * leases. The kernel removes the address at the end of the lease, also if the node has ended.
   *
   * @param index the index of the interface; the routes of the first card get preference
   * @param left the rest of the lease
   * @param keepMtu true to leave the MTU as it is
   */
  void lease(String link, int index, DhcpLease lease, Duration left, boolean keepMtu)
      throws IOException, InterruptedException {
    if (!keepMtu && lease.mtu() > 0) {
      attempt("link", "set", "dev", link, "mtu", Integer.toString(lease.mtu()));
    }
    String address = lease.address().toString();
    boolean configured = false;
    for (String line : addresses(link)) {
      String present = following(line, "inet");
      if (isLeased(line) && !present.equals(address)) {
        // First: the kernel removes a later address of the same network with an earlier one.
        ip("address", "delete", present, "dev", link);
      }
      configured |= !isLeased(line) && present.equals(address);
    }
    if (!configured) {
      String lifetime = Long.toString(left.toSeconds() + 1); // a part of a second counts, too
      ip(
          "address",
          "replace",
          address,
          "dev",
          link,
          "valid_lft",
          lifetime,
          "preferred_lft",
          lifetime);
    }
    String metric = Integer.toString(DHCP_METRIC + index);
    Set<IpPrefix> wanted = new HashSet<>();
    for (Route route : lease.routes()) {
      wanted.add(route.destination());
      List<String> command =
          new ArrayList<>(List.of("route", "replace", route.destination().toString()));
      addIf(command, "via", route.gateway());
      command.addAll(
          List.of("dev", link, "src", route.source(), "metric", metric, "proto", "dhcp"));
      attempt(command.toArray(String[]::new));
    }
    removeDhcpRoutes(link, wanted);
  }

  /** Removes the addresses and routes of leases from an interface; others stay. */
  void release(String link) throws IOException, InterruptedException {
    removeDhcpRoutes(link, Set.of());
    for (String line : addresses(link)) {
      if (isLeased(line)) {
        ip("address", "delete", following(line, "inet"), "dev", link);
      }
    }
  }

  /** Returns whether an interface has an address of a lease. */
  boolean hasLeased(String link, IpPrefix address) throws IOException, InterruptedException {
    return addresses(link).stream()
        .anyMatch(line -> isLeased(line) && following(line, "inet").equals(address.toString()));
  }

  private List<String> addresses(String link) throws IOException, InterruptedException {
    return ip("-4", "-oneline", "address", "show", "dev", link, "scope", "global").lines().toList();
  }

  private void removeDhcpRoutes(String link, Set<IpPrefix> wanted)
      throws IOException, InterruptedException {
    for (String line :
        ip("-4", "-oneline", "route", "show", "dev", link, "proto", "dhcp").lines().toList()) {
      String destination = line.strip().split(" ", 2)[0];
      if (!wanted.contains(
          IpPrefix.parse(destination.equals("default") ? "0.0.0.0/0" : destination))) {
        ip("-4", "route", "delete", destination, "dev", link, "proto", "dhcp");
      }
    }
  }

  /** Makes a change that the kernel may refuse: what a server asks for may not fit this machine. */
  private void attempt(String... arguments) throws InterruptedException {
    try {
      ip(arguments);
    } catch (IOException e) {
      log.warning("a setting of the DHCP server is not in effect: %s", e.getMessage());
    }
  }

  /**
   * Returns the Ethernet cards of this machine, sorted. In a network namespace of its own these are
   * the links that its maker put there.
   */
  List<String> cards() throws IOException, InterruptedException {
    List<String> cards = new ArrayList<>();
    List<String> virtual = new ArrayList<>();
    for (String line : ip("-oneline", "-details", "link", "show").lines().toList()) {
      String name = line.split(": ", 3)[1].split("@", 2)[0];
      if (line.contains(ETHERNET) && !name.startsWith(SANDBOXES)) {
        // ip prints the kind of a virtual link at the begin of its third line.
        String[] lines = line.split("\\\\", 4);
        String kind = lines.length > 2 ? lines[2].strip().split(" ", 2)[0] : "";
        if (kind.equals("veth") || kind.equals("macvlan")) {
          virtual.add(name);
        } else if (!VIRTUAL_KINDS.contains(kind)) {
          cards.add(name);
        }
      }
    }
    return (cards.isEmpty() ? virtual : cards).stream().sorted().toList();
  }

  /** Returns whether any of these interfaces has an address without a lifetime. */
  boolean hasPermanentAddress(List<String> links) throws IOException, InterruptedException {
    for (String link : links) {
      if (!addresses(link).stream().allMatch(InterfaceSetup::isLeased)) {
        return true;
      }
    }
    return false;
  }

  private static void addIf(List<String> command, String word, String value) {
    if (!value.isEmpty()) {
      command.add(word);
      command.add(value);
    }
  }

  private static String following(String line, String word) {
    String[] words = line.strip().split("\\s+");
    for (int i = 0; i + 1 < words.length; i++) {
      if (words[i].equals(word)) {
        return words[i + 1];
      }
    }
    throw new IllegalStateException("no " + word + " in what ip printed: " + line);
  }

  /** Writes the name servers to the resolver's file; keeps the file if there are none. */
  void resolver(List<InetAddress> servers) throws IOException {
    String content =
        servers.stream()
            .map(server -> "nameserver " + server.getHostAddress() + "\n")
            .collect(
                Collectors.joining("", "# written by polis, from network_config and DHCP\n", ""));
    boolean same = Files.exists(resolverFile) && Files.readString(resolverFile).equals(content);
    if (servers.isEmpty() || same) {
      return;
    }
    if (servers.size() > MAX_NAME_SERVERS) {
      log.warning(
          "%s names %d servers; the C library asks the first %d only",
          resolverFile, servers.size(), MAX_NAME_SERVERS);
    }
    // Writes the file in place, since in a network namespace another file is often mounted over it.
    Files.writeString(resolverFile, content);
  }

  private String ip(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(arguments));
    Commands.Result result = commands.run(PATIENCE, command);
    if (!result.ok()) {
      throw new IOException(
          "\"%s\" failed: %s; the node needs the rights of root over this network namespace"
              .formatted(String.join(" ", command), result.words()));
    }
    return result.output();
  }
}
