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
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Applies a static configuration to the interfaces of this machine or network namespace, with
 * iproute2's {@code ip}. Each change is idempotent, so the node can repeat an interrupted run.
 *
 * <p>It does not use netlink, since the JDK has no netlink socket and each Debian has {@code ip}.
 */
final class InterfaceSetup {

  /**
   * The time for a change in the kernel, which takes milliseconds, or seconds with the load of a
   * driver.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final Path LINKS = Path.of("/sys/class/net");
  private static final int MAX_NAME_SERVERS = 3; // the limit of resolv.conf(5)

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
        links.add(
            new Link(name, line.contains("link/ether ") ? following(line, "link/ether") : ""));
      }
    }
    return links;
  }

  /**
   * Applies the configuration to the interfaces and the resolver.
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
    resolver(network.nameServers());
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
      if (!wanted.contains(IpPrefix.parse(present))) {
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

  private void resolver(List<InetAddress> servers) throws IOException {
    if (servers.isEmpty()) {
      return;
    }
    if (servers.size() > MAX_NAME_SERVERS) {
      log.warning(
          "%s names %d servers; the C library asks the first %d only",
          resolverFile, servers.size(), MAX_NAME_SERVERS);
    }
    // Writes the file in place, since in a network namespace another file is often mounted over it.
    Files.writeString(
        resolverFile,
        servers.stream()
            .map(server -> "nameserver " + server.getHostAddress() + "\n")
            .collect(Collectors.joining("", "# written by polis, from network_config\n", "")));
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
