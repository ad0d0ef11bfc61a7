package dev.polis.network;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Describes the DHCP client of one interface. */
sealed interface DhcpStatus {

  /**
   * Means that the interface has the address of a lease.
   *
   * @param link the name of the interface
   * @param state the state of the client
   * @param since the begin of the state
   * @param trouble the first failure to send or unusable answer since the last change of the lease;
   *     empty if there is none
   */
  record Leased(String link, DhcpClient.State state, Instant since, DhcpLease lease, String trouble)
      implements DhcpStatus {

    @Override
    public String words() {
      return "%s has the address %s until %s, state %s since %s%s"
          .formatted(link, lease, shown(lease.expiry()), state, shown(since), more(trouble));
    }
  }

  /**
   * Means that the interface has no lease.
   *
   * @param link the name of the interface
   * @param state the state of the client
   * @param since the end of the last lease, or the begin of the client
   * @param carrier whether the interface is connected
   * @param trouble the first failure to send or unusable answer since the last change of the lease;
   *     empty if there is none
   */
  record Without(
      String link, DhcpClient.State state, Instant since, boolean carrier, String trouble)
      implements DhcpStatus {

    @Override
    public String words() {
      return "%s, state %s, %s%s"
          .formatted(
              brief(), state, carrier ? "with a carrier" : "without a carrier", more(trouble));
    }

    /** Returns the part that is the same until there is a lease. */
    String brief() {
      return "%s has had no DHCP lease since %s".formatted(link, shown(since));
    }
  }

  String link();

  DhcpClient.State state();

  /** Returns the state as a clause for people. */
  String words();

  /** Returns the lease whose address the interface has. */
  default Optional<DhcpLease> held() {
    return this instanceof Leased leased ? Optional.of(leased.lease()) : Optional.empty();
  }

  String LEASE = "dhcp-lease";
  String NO_LEASE = "dhcp-no-lease";
  String SILENT = "dhcp-server-silent";

  /** The codes of all conditions. */
  List<String> CODES = List.of(LEASE, NO_LEASE, SILENT);

  /** Returns the conditions of all interfaces, at most one for each code. */
  static List<HealthCondition> conditions(Collection<DhcpStatus> all) {
    String leases = reasons(all, status -> status instanceof Leased);
    String without = reasons(all, status -> status instanceof Without);
    String silent = reasons(all, status -> status.state() == DhcpClient.State.REBINDING);
    List<HealthCondition> conditions = new ArrayList<>();
    if (!leases.isEmpty()) {
      conditions.add(HealthCondition.up(LEASE, leases));
    }
    if (!without.isEmpty()) {
      conditions.add(
          new HealthCondition(
              HealthLevel.WAITING,
              NO_LEASE,
              without,
              "check the cable, the port and VLAN of the switch, and that a DHCP server has a free"
                  + " address for this card; or give the node a network_config with an address"));
    }
    if (!silent.isEmpty()) {
      conditions.add(
          HealthCondition.degraded(
              SILENT,
              "no DHCP server answers: " + silent,
              "check the DHCP server and the way to it; without an answer the interface loses its"
                  + " address at the end of the lease"));
    }
    return conditions;
  }

  private static String reasons(Collection<DhcpStatus> all, Predicate<DhcpStatus> which) {
    return all.stream()
        .filter(which)
        .map(DhcpStatus::words)
        .sorted()
        .collect(Collectors.joining("; "));
  }

  private static Instant shown(Instant time) {
    return time.truncatedTo(ChronoUnit.SECONDS);
  }

  private static String more(String trouble) {
    return trouble.isEmpty() ? "" : " (" + trouble + ")";
  }
}
