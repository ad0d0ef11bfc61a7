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

/**
 * Describes the DHCP client of one interface.
 *
 * @param link the name of the interface
 * @param state its state
 * @param since the begin of the state; without a lease, the time since which it has none
 * @param lease the lease whose address the interface has
 * @param carrier whether the interface is connected
 * @param trouble the last failure to send, or the last unusable answer; empty if there is none
 */
record DhcpStatus(
    String link,
    DhcpClient.State state,
    Instant since,
    Optional<DhcpLease> lease,
    boolean carrier,
    String trouble) {

  private static final String LEASE = "dhcp-lease";
  private static final String NO_LEASE = "dhcp-no-lease";
  private static final String SILENT = "dhcp-server-silent";

  /** The codes of all conditions. */
  static final List<String> CODES = List.of(LEASE, NO_LEASE, SILENT);

  /** Returns the conditions of all interfaces, at most one for each code. */
  static List<HealthCondition> conditions(Collection<DhcpStatus> all) {
    String leases = reasons(all, status -> status.lease().isPresent());
    String without = reasons(all, status -> status.lease().isEmpty());
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

  /** Returns the state as a clause for people. */
  String words() {
    String more = trouble.isEmpty() ? "" : " (" + trouble + ")";
    return lease
        .map(
            held ->
                "%s has the address %s until %s, state %s since %s%s"
                    .formatted(link, held, shown(held.expiry()), state, shown(since), more))
        .orElseGet(
            () ->
                "%s has had no DHCP lease since %s, state %s, %s%s"
                    .formatted(
                        link,
                        shown(since),
                        state,
                        carrier ? "with a carrier" : "without a carrier",
                        more));
  }

  private static Instant shown(Instant time) {
    return time.truncatedTo(ChronoUnit.SECONDS);
  }
}
