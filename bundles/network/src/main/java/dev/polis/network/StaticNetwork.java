package dev.polis.network;

import dev.polis.wire.net.Interface;
import dev.polis.wire.net.Nameserver;
import dev.polis.wire.net.Net;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Holds an applicable configuration of the network: adapters with addresses and routes, or DHCP,
 * and name servers. It refuses a bond, a VLAN or router advertisements and names the field.
 *
 * @param adapters the adapters, in the order of the configuration
 * @param nameServers the name servers, the preferred one first; empty to keep the resolver
 *     unchanged
 */
record StaticNetwork(List<Adapter> adapters, List<InetAddress> nameServers) {

  /**
   * The kernel's rule for names: at most 15 bytes, without characters that have a meaning for its
   * tools.
   */
  private static final Pattern NAME = Pattern.compile("[^\\s/:%]{1,15}");

  private static final Pattern HARDWARE_ADDRESS =
      Pattern.compile("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}");

  /** The smallest MTU that IPv4 allows, and the largest that the kernel accepts. */
  private static final int MIN_MTU = 68;

  private static final int MAX_MTU = 65_535;

  /**
   * Describes one network adapter.
   *
   * @param field its field in the configuration, for messages
   * @param name its name in the kernel
   * @param device selects the adapter
   * @param dhcp true if it also gets an address by DHCP
   * @param mtu the largest packet in bytes; 0 to keep it unchanged
   */
  record Adapter(
      String field,
      String name,
      DeviceMatch device,
      boolean dhcp,
      List<IpPrefix> addresses,
      int mtu,
      List<Route> routes) {}

  /** Selects one adapter of the machine. */
  sealed interface DeviceMatch {

    /** Selects the adapter that already has the configured name. */
    record ByName() implements DeviceMatch {}

    /**
     * Selects the adapter that meets all of these conditions; the node renames it to the configured
     * name.
     *
     * @param hardwareAddress the hardware address with colons; empty for any
     * @param driver the kernel's driver; empty for any
     * @param index the index among several, from 0
     */
    record ByProperties(String hardwareAddress, String driver, int index) implements DeviceMatch {}
  }

  /**
   * Describes one route through an adapter.
   *
   * @param gateway empty if the destination is on the link
   * @param source empty for the kernel's choice
   * @param metric the lower one wins; 0 for the kernel's choice
   */
  record Route(IpPrefix destination, String gateway, String source, int metric) {}

  StaticNetwork {
    adapters = List.copyOf(adapters);
    nameServers = List.copyOf(nameServers);
  }

  /**
   * Checks a configuration.
   *
   * @param problems receives one line with a remedy for each field that is not applicable
   * @return the configuration; valid only without problems
   */
  static StaticNetwork check(Net net, List<String> problems) {
    List<Adapter> adapters = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < net.getInterfaceCount(); i++) {
      Interface wire = net.getInterface(i);
      Reader reader = new Reader("interface[" + i + "]", problems);
      if (!NAME.matcher(wire.getName()).matches()) {
        reader.refuse(
            "name",
            "is \"" + wire.getName() + "\"; give the name of a network adapter, such as eth0");
      } else if (!names.add(wire.getName())) {
        reader.refuse("name", "is \"" + wire.getName() + "\" a second time; configure it once");
      }
      adapters.add(reader.adapter(wire));
    }
    List<InetAddress> servers = new ArrayList<>();
    for (int i = 0; i < net.getNameserverCount(); i++) {
      Nameserver server = net.getNameserver(i);
      new Reader("nameserver[" + i + "]", problems)
          .address("ip", server.getIp())
          .ifPresent(servers::add);
    }
    return new StaticNetwork(adapters, servers);
  }

  /** Reads one element of a list and records its problems. */
  private record Reader(String field, List<String> problems) {

    void refuse(String part, String problem) {
      problems.add(field + "." + part + " " + problem);
    }

    Adapter adapter(Interface wire) {
      List<IpPrefix> addresses = new ArrayList<>();
      for (int i = 0; i < wire.getAddressCount(); i++) {
        prefix("address[" + i + "]", wire.getAddress(i)).ifPresent(addresses::add);
      }
      if (wire.hasIpv6Autoconfig()) {
        refuse(
            "ipv6_autoconfig",
            "asks for router advertisements, which this version does not support; write the"
                + " address in address");
      }
      if (wire.getMtu() != 0 && (wire.getMtu() < MIN_MTU || wire.getMtu() > MAX_MTU)) {
        refuse("mtu", "is %d; write %d to %d, or 0".formatted(wire.getMtu(), MIN_MTU, MAX_MTU));
      }
      return new Adapter(
          field,
          wire.getName(),
          device(wire),
          wire.hasIpv4Autoconfig(),
          addresses,
          wire.getMtu(),
          routes(wire));
    }

    private DeviceMatch device(Interface wire) {
      return switch (wire.getTypeCase()) {
        case DEVICE -> {
          var device = wire.getDevice();
          if (!device.getHardwareAddress().isEmpty()
              && !HARDWARE_ADDRESS.matcher(device.getHardwareAddress()).matches()) {
            refuse(
                "device.hardware_address",
                "is \"%s\"; write six bytes such as 52:54:00:12:34:56"
                    .formatted(device.getHardwareAddress()));
          }
          if (device.getIndex() < 0) {
            refuse("device.index", "is %d; count from 0".formatted(device.getIndex()));
          }
          yield new DeviceMatch.ByProperties(
              device.getHardwareAddress(), device.getDriver(), device.getIndex());
        }
        case BOND -> {
          refuse("bond", "is not supported by this version; configure one adapter instead");
          yield new DeviceMatch.ByName();
        }
        case VLAN -> {
          refuse("vlan", "is not supported by this version; configure an adapter without tags");
          yield new DeviceMatch.ByName();
        }
        case TYPE_NOT_SET -> new DeviceMatch.ByName();
      };
    }

    private List<Route> routes(Interface wire) {
      List<Route> routes = new ArrayList<>();
      for (int i = 0; i < wire.getRouteCount(); i++) {
        Interface.Route route = wire.getRoute(i);
        Reader reader = new Reader(field + ".route[" + i + "]", problems);
        var destination = reader.network("destination", route.getDestination());
        String gateway = reader.optionalAddress("gateway_ip", route.getGatewayIp());
        String source = reader.optionalAddress("source_ip", route.getSourceIp());
        if (route.getMetric() < 0) {
          reader.refuse("metric", "is %d; write 0 or more".formatted(route.getMetric()));
        }
        destination.ifPresent(to -> routes.add(new Route(to, gateway, source, route.getMetric())));
      }
      return routes;
    }

    private Optional<IpPrefix> prefix(String part, String text) {
      try {
        return Optional.of(IpPrefix.parse(text));
      } catch (IllegalArgumentException wrong) {
        refuse(part, "is \"%s\", %s".formatted(text, wrong.getMessage()));
        return Optional.empty();
      }
    }

    private Optional<IpPrefix> network(String part, String text) {
      return prefix(part, text)
          .filter(
              prefix -> {
                boolean network = prefix.isNetwork();
                if (!network) {
                  refuse(
                      part,
                      "is \"%s\", which has bits behind its prefix; write %s"
                          .formatted(text, prefix.network()));
                }
                return network;
              });
    }

    Optional<InetAddress> address(String part, String text) {
      try {
        return Optional.of(InetAddress.ofLiteral(text));
      } catch (IllegalArgumentException wrong) {
        refuse(part, "is \"%s\"; write an IP address such as 192.0.2.1".formatted(text));
        return Optional.empty();
      }
    }

    private String optionalAddress(String part, String text) {
      return text.isEmpty() ? "" : address(part, text).map(InetAddress::getHostAddress).orElse("");
    }
  }
}
