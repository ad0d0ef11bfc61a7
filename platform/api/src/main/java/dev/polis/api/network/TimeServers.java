package dev.polis.api.network;

import dev.polis.api.curator.DomainNames;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/** Checks the names of time servers. */
public final class TimeServers {

  /** Four are enough to find a false one among them; each costs a packet a minute. */
  private static final int MOST = 8;

  private TimeServers() {}

  /**
   * Returns the first fault of a list of time servers.
   *
   * @return the problem and the remedy as a sentence without its end; empty if there is none
   */
  public static Optional<String> problem(List<String> servers) {
    if (servers.size() > MOST) {
      return Optional.of("%d time servers are too many; name %d".formatted(servers.size(), MOST));
    }
    return servers.stream().flatMap(server -> problem(server).stream()).findFirst();
  }

  private static Optional<String> problem(String server) {
    return isAddress(server)
        ? Optional.empty()
        : DomainNames.problem(server)
            .map(
                fault ->
                    "the time server \"%s\" %s; write a name such as ntp.example.org, or an address such as 192.0.2.1"
                        .formatted(server, fault));
  }

  /** Returns whether a server is named by its address, and not by a name. */
  public static boolean isAddress(String server) {
    try {
      InetAddress.ofLiteral(server);
      return true;
    } catch (IllegalArgumentException name) {
      return false;
    }
  }
}
