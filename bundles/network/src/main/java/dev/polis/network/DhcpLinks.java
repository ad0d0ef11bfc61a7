package dev.polis.network;

import dev.polis.base.boot.StopReason;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Runs the DHCP clients of this node: of each interface whose configuration asks for it, or without
 * a configuration of the only card. Its owner calls {@link #follow} and {@link #pause} one at a
 * time; other methods are thread-safe.
 */
final class DhcpLinks {

  /**
   * Says which clients run.
   *
   * @param dynamic true without a configuration: the client of the only card
   * @param links the interfaces with DHCP, and whether their MTU is configured
   * @param nameServers the configured name servers, which come first
   */
  record Plan(boolean dynamic, Map<String, Boolean> links, List<InetAddress> nameServers) {

    /** Without any client. */
    static final Plan NONE = new Plan(false, Map.of(), List.of());

    /** Without a configuration. */
    static final Plan DYNAMIC = new Plan(true, Map.of(), List.of());

    static Plan of(StaticNetwork network) {
      Map<String, Boolean> links = new TreeMap<>();
      network.adapters().stream()
          .filter(StaticNetwork.Adapter::dhcp)
          .forEach(adapter -> links.put(adapter.name(), adapter.mtu() > 0));
      return new Plan(false, links, network.nameServers());
    }
  }

  /** Holds what all clients share. */
  record Parts(
      Subtree subtree,
      HealthScope health,
      InterfaceSetup setup,
      DhcpLeaseFile file,
      Supplier<Optional<String>> hostName,
      Runnable changed,
      InstantSource clock) {}

  private static final String SEVERAL = "several-cards";

  /** The name of the client without a configuration; no interface has it, for its spaces. */
  private static final String DYNAMIC = "the only card";

  private static final String STARTING = "the node is looking for its Ethernet card";

  /** A new card waits this long at most; the look costs two short programs. */
  private static final Duration LOOK = Duration.ofSeconds(5);

  /** Less than the 4 s after which a swap is refused. */
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  private final Parts parts;
  private final Map<String, Subtree> running = new TreeMap<>(); // used by the owner alone
  private final Map<String, DhcpStatus> statuses = new TreeMap<>(); // guarded by this
  private final ConcurrentSkipListMap<String, List<String>> timeServers; // of each lease
  private volatile Plan plan = Plan.NONE;
  private volatile String missing = STARTING;

  /**
   * Creates the clients.
   *
   * @param offered the time servers of earlier leases, by interface; those without a client in the
   *     plan stay unused
   */
  DhcpLinks(Parts parts, Map<String, List<String>> offered) {
    this.parts = parts;
    this.timeServers = new ConcurrentSkipListMap<>(offered);
  }

  /** Ends the clients that a plan lacks, with their addresses, and starts the missing ones. */
  void follow(Plan wanted) throws IOException, InterruptedException {
    for (String name : List.copyOf(running.keySet())) {
      if (!wanted.links().containsKey(name) && !(wanted.dynamic() && name.equals(DYNAMIC))) {
        end(name, wanted);
      }
    }
    start(wanted, false);
    resolver("", List.of());
  }

  /** Starts the clients of a plan, which continue with the leases of another instance. */
  void adopt(Plan wanted) {
    start(wanted, true);
  }

  private void start(Plan wanted, boolean adopts) {
    plan = wanted;
    Map<String, Optional<Boolean>> starting = new TreeMap<>();
    wanted.links().forEach((name, keepMtu) -> starting.put(name, Optional.of(keepMtu)));
    if (wanted.dynamic()) {
      starting.put(DYNAMIC, Optional.empty());
    }
    starting.keySet().removeAll(running.keySet());
    starting.forEach((name, keepMtu) -> start(name, keepMtu, adopts));
  }

  private void start(String name, Optional<Boolean> keepMtu, boolean adopts) {
    // The name of an interface may have capitals and other signs.
    String plain = name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_-]", "_");
    Subtree subtree = parts.subtree().subtree("dhcp-" + plain);
    running.put(name, subtree);
    boolean[] first = {adopts};
    subtree.run(
        "client",
        context -> {
          boolean adopt = first[0];
          first[0] = false; // A client that failed asks its servers again.
          if (keepMtu.isPresent()) {
            context.healthy();
            new DhcpLink(name, this, keepMtu.get()).run(context, adopt);
          } else {
            findCard(context, adopt);
          }
        });
  }

  private void end(String name, Plan next) throws IOException, InterruptedException {
    // Without a configuration the name of the card is that of the status.
    List<String> links = name.equals(DYNAMIC) ? withStatus() : List.of(name);
    running.remove(name).close(StopReason.ROLE_REMOVED, PATIENCE);
    for (String link : links) {
      if (!next.links().containsKey(link)) {
        timeServers.remove(link);
        parts.setup().release(link);
        parts.file().store(link, Optional.empty(), now());
      }
    }
  }

  private synchronized List<String> withStatus() {
    return List.copyOf(statuses.keySet());
  }

  /** Ends all clients for a successor; interfaces and the stored leases stay as they are. */
  void pause() {
    running.values().forEach(subtree -> subtree.close(StopReason.CODE_REPLACED, PATIENCE));
    running.clear();
  }

  /** Starts the clients again whose successor has failed. */
  void resume() {
    adopt(plan);
  }

  // ---- without a configuration

  /** Waits until the machine has one card, and runs its client. */
  private void findCard(Context context, boolean adopts) throws IOException, InterruptedException {
    context.healthy();
    try {
      while (!context.cancelled()) {
        List<String> cards = parts.setup().cards();
        if (parts.setup().hasPermanentAddress(cards)) {
          // The kernel's command line, or the program that made this namespace, has given it.
          awaits("", List.of());
        } else if (cards.size() == 1) {
          awaits(STARTING, List.of());
          new DhcpLink(cards.getFirst(), this, false).run(context, adopts);
        } else {
          awaits(
              cards.isEmpty()
                  ? "this machine has no Ethernet card"
                  : "this machine has several Ethernet cards (%s), and the node has no network_config that selects one"
                      .formatted(String.join(", ", cards)),
              cards);
        }
        Thread.sleep(LOOK);
      }
    } finally {
      awaits(STARTING, List.of());
    }
  }

  private void awaits(String what, List<String> cards) {
    missing = what;
    if (cards.isEmpty()) {
      parts.health().clear(SEVERAL);
    } else {
      parts
          .health()
          .set(
              HealthCondition.down(
                  SEVERAL,
                  what,
                  "give the node a network_config with \"interface { name: '%s' ipv4_autoconfig {} }\" or another of these cards"
                      .formatted(cards.getFirst())));
    }
  }

  // ---- for the clients

  InterfaceSetup setup() {
    return parts.setup();
  }

  DhcpLeaseFile file() {
    return parts.file();
  }

  Optional<String> hostName() {
    return parts.hostName().get();
  }

  Instant now() {
    return parts.clock().instant();
  }

  /** Gives an interface the settings of a lease, or removes them. */
  void apply(String link, int index, Optional<DhcpLease> lease, boolean keepMtu)
      throws IOException, InterruptedException {
    if (lease.isPresent()) {
      Duration left = Duration.between(now(), lease.get().expiry());
      parts.setup().lease(link, index, lease.get(), left, keepMtu);
    } else {
      parts.setup().release(link);
    }
    resolver(link, DhcpLease.nameServers(lease));
    // A lease that is lost may come back with the same servers, so the clock asks them until then.
    lease.ifPresent(held -> timeServers.put(link, held.offeredTime()));
    parts.changed().run();
  }

  /** Returns the time servers of the newest leases, by interface. */
  SortedMap<String, List<String>> timeServers() {
    SortedMap<String, List<String>> servers = new TreeMap<>(timeServers);
    servers.keySet().removeIf(link -> !plan.dynamic() && !plan.links().containsKey(link));
    return Collections.unmodifiableSortedMap(servers);
  }

  /** Writes the name servers of the configuration and of all leases. */
  private synchronized void resolver(String link, List<? extends InetAddress> servers)
      throws IOException {
    Stream<InetAddress> others =
        statuses.values().stream()
            .filter(status -> !status.link().equals(link))
            .flatMap(status -> DhcpLease.nameServers(status.held()).stream());
    List<InetAddress> all = new ArrayList<>(plan.nameServers());
    all.addAll(servers);
    others.forEach(all::add);
    parts.setup().resolver(all.stream().distinct().toList());
  }

  synchronized void publish(DhcpStatus status) {
    if (!status.equals(statuses.put(status.link(), status))) {
      show();
    }
  }

  synchronized void withdraw(String link) {
    statuses.remove(link);
    show();
  }

  private void show() {
    DhcpStatus.CODES.forEach(
        code -> {
          Optional<HealthCondition> condition =
              DhcpStatus.conditions(statuses.values()).stream()
                  .filter(one -> one.code().equals(code))
                  .findFirst();
          condition.ifPresentOrElse(parts.health()::set, () -> parts.health().clear(code));
        });
  }

  /** Returns what the node waits for while no interface has an address; empty if for nothing. */
  synchronized Optional<String> awaited() {
    Optional<String> without =
        statuses.values().stream()
            .filter(DhcpStatus.Without.class::isInstance)
            .map(status -> ((DhcpStatus.Without) status).brief())
            .findFirst();
    if (without.isPresent() || !statuses.isEmpty()) {
      return without;
    }
    String starting = "DHCP is starting on " + String.join(", ", plan.links().keySet());
    return Optional.of(plan.dynamic() ? missing : plan.links().isEmpty() ? "" : starting)
        .filter(text -> !text.isEmpty());
  }
}
