package dev.polis.network;

import dev.polis.api.network.TimeServers;
import dev.polis.base.config.SettingCheck;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Holds the checked configuration.
 *
 * @param address the node's address for others; empty to select one of the machine's
 * @param manage true if this node owns the network interfaces
 * @param resolverFile the file for the name servers
 * @param namesFolder the folder for names that other programs read; empty for none
 * @param clock true if this node keeps the machine's clock
 * @param timeServers the time servers; empty for those of the node parameters
 */
record NetworkSettings(
    String address,
    boolean manage,
    Path resolverFile,
    String namesFolder,
    boolean clock,
    List<String> timeServers) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.network");

  NetworkSettings {
    if (!address.isEmpty()) {
      InetAddress parsed = CHECK.address("address", address);
      if (parsed.isAnyLocalAddress() || parsed.isMulticastAddress()) {
        throw CHECK.refuse(
            "address",
            address,
            "which is not the address of one machine; write the address at which other nodes reach this node");
      }
    }
    if (!resolverFile.isAbsolute()) {
      throw CHECK.refuse(
          "resolver.file", resolverFile, "which is not an absolute path; begin it with a slash");
    }
    if (!namesFolder.isEmpty() && !Path.of(namesFolder).isAbsolute()) {
      throw CHECK.refuse(
          "names.folder", namesFolder, "which is not an absolute path; begin it with a slash");
    }
    timeServers = List.copyOf(timeServers);
    Optional<String> problem = TimeServers.problem(timeServers);
    if (problem.isPresent()) {
      throw CHECK.refuse("time.servers", String.join(",", timeServers), "but " + problem.get());
    }
  }

  static NetworkSettings of(NetworkConfig config) {
    return new NetworkSettings(
        config.address(),
        config.manage(),
        Path.of(CHECK.present("resolver.file", config.resolver_file())),
        config.names_folder(),
        config.clock(),
        Stream.of(config.time_servers().split(","))
            .map(String::strip)
            .filter(server -> !server.isEmpty())
            .toList());
  }
}
