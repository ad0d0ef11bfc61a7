package dev.polis.network;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkConfigException;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.network.TimeServers;
import dev.polis.base.boot.StopReason;
import dev.polis.base.posix.BootClock;
import dev.polis.base.posix.Machine;
import dev.polis.base.posix.PosixException;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeId;
import dev.polis.process.Commands;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.UnknownFields;
import dev.polis.wire.net.Net;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Finds the node's address, configures the network if the node owns it, and writes the node's
 * names.
 */
final class NetworkService implements Network, OrganInstance {

  /** The name of the value that one instance passes to the next. */
  private static final String STATUS = "status";

  private static final String MANAGED = "managed";

  private static final String NAMES = "names";

  private static final String OFFERED = "offered-time-servers";

  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);

  /** Holds the services that the organ uses. */
  record Parts(
      Root root,
      Supervisor supervisor,
      HealthRegistry health,
      ProcessManager processes,
      LogTree logs) {}

  private final NetworkSettings settings;
  private final FilePlacement stored;
  private final HostAddresses addresses;
  private final NodeNames names;
  private final MutableValue<NetworkStatus> status;
  private final Subtree subtree;
  private final HealthScope health;
  private final InterfaceSetup setup;
  private final DhcpLinks dhcp;
  private final FilePlacement storedTimeServers;
  private final MachineClock clock;
  private final Semaphore changed = new Semaphore(0);
  private final Log log;
  private List<String> named; // the time servers of the node parameters; guarded by this
  private ClockServers asked; // the servers that the clock follows; guarded by this
  private boolean gave; // guarded by this

  /**
   * Applies the stored configuration of the network, unless another instance has applied it and
   * passed its state on. Then polls the address once, so that a status exists from the start.
   *
   * @throws NetworkConfigException if the stored configuration is not applicable
   */
  NetworkService(NetworkSettings settings, Parts parts, OrganState taken)
      throws IOException, InterruptedException {
    this(settings, parts, taken, MachineClock.Pace.DEFAULT);
  }

  /** Starts an organ that keeps the clock at this pace. */
  NetworkService(NetworkSettings settings, Parts parts, OrganState taken, MachineClock.Pace pace)
      throws IOException, InterruptedException {
    this.settings = settings;
    this.stored = parts.root().esp().networkConfiguration();
    this.log = parts.logs().log("root.network");
    this.setup = new InterfaceSetup(new Commands(), settings.resolverFile(), log);
    boolean managed = taken.find(MANAGED, Boolean.class).orElse(!taken.isEmpty());
    boolean adopts = !taken.isEmpty() && (managed || !settings.manage());
    DhcpLinks.Plan plan = restore(!adopts);
    Root.Ephemeral ephemeral = parts.root().ephemeral();
    addresses = new HostAddresses(settings.address(), HostAddresses.thisMachine());
    names =
        new NodeNames(
            ephemeral.hosts(), ephemeral.machineId(), settings.namesFolder(), names(taken));
    subtree = parts.supervisor().organ("network");
    health = parts.health().organ("network", subtree.dn());
    DhcpLeaseFile leases = new DhcpLeaseFile(parts.root().esp().dhcpLeases());
    dhcp =
        new DhcpLinks(
            new DhcpLinks.Parts(
                subtree,
                health,
                setup,
                leases,
                names::name,
                changed::release,
                unset(Instant.now(), new BootClock())),
            offered(taken, leases));
    try {
      if (adopts) {
        dhcp.adopt(plan);
      } else {
        dhcp.follow(plan);
      }
      status = new MutableValue<>(addresses.poll(dhcp.awaited()));
      names.status(status.peek().orElseThrow());
      storedTimeServers = parts.root().esp().timeServers();
      named = storedTimeServers();
      clock =
          new MachineClock(
              new MachineClock.Parts(subtree, parts.processes(), parts.root(), status), pace);
      keepClock();
    } catch (IOException | InterruptedException | RuntimeException e) {
      close(StopReason.CODE_REPLACED);
      throw e;
    }
    subtree.run("address", this::follow);
    subtree.run("health", StatusHealth.task(status, health, NetworkHealth::of));
    subtree.run("packets", SelfCheck.task(health, new PacketCheck()::look));
    subtree.run("clock-health", StatusHealth.task(clock.status(), health, ClockHealth::of));
  }

  /**
   * Makes a clock that starts with a time and is never set.
   *
   * @param boot runs while the machine is suspended too, as a lease does
   */
  static InstantSource unset(Instant start, LongSupplier boot) {
    long began = boot.getAsLong();
    return () -> start.plusMillis(boot.getAsLong() - began);
  }

  // ---- hand-over between instances

  /**
   * Waits for a running configuration and ends the DHCP clients; interfaces and files stay as they
   * are.
   */
  @Override
  public synchronized OrganState give() {
    dhcp.pause();
    clock.pause();
    gave = true;
    return OrganState.NONE
        .with(STATUS, status.peek())
        .with(MANAGED, settings.manage())
        .with(NAMES, names.cluster())
        .with(OFFERED, dhcp.timeServers());
  }

  @Override
  public synchronized void resume(OrganState state) {
    gave = false;
    dhcp.resume();
    try {
      clock.resume(settings.clock());
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
  }

  // ---- the clock

  @Override
  public Value<ClockStatus> clock() {
    return clock.status();
  }

  @Override
  public synchronized void keepClock(List<String> servers)
      throws IOException, InterruptedException {
    if (gave) {
      throw new NetworkConfigException(
          "another instance of this organ keeps the clock now; ask that instance");
    }
    TimeServers.problem(servers)
        .ifPresent(
            problem -> {
              throw new NetworkConfigException(problem);
            });
    storedTimeServers.write(String.join("\n", servers).getBytes(StandardCharsets.UTF_8));
    named = storedTimeServers();
    keepClock();
  }

  private synchronized void keepClock() throws InterruptedException {
    asked = timeServers();
    clock.keep(settings.clock(), asked);
  }

  /**
   * Returns the servers of the configuration, else those of the node parameters, else those that
   * DHCP offers: an operator's choice comes before that of the link.
   */
  private ClockServers timeServers() {
    List<String> chosen = settings.timeServers().isEmpty() ? named : settings.timeServers();
    return chosen.isEmpty() && settings.clock()
        ? new ClockServers(
            dhcp.timeServers().values().stream().flatMap(List::stream).distinct().toList(), false)
        : new ClockServers(chosen, true);
  }

  private List<String> storedTimeServers() throws IOException {
    return storedTimeServers.exists()
        ? new String(storedTimeServers.read().orThrow(), StandardCharsets.UTF_8).lines().toList()
        : List.of();
  }

  /** Returns what the other instance knew, else what the stored leases offer. */
  @SuppressWarnings("unchecked") // the value that give() has stored
  private static Map<String, List<String>> offered(OrganState taken, DhcpLeaseFile leases) {
    return taken
        .find(OFFERED, Map.class)
        .map(found -> (Map<String, List<String>>) found)
        .orElseGet(leases::timeServers);
  }

  @SuppressWarnings("unchecked") // the value that give() has stored
  private static Map<NodeId, InetAddress> names(OrganState taken) {
    return taken
        .find(NAMES, Map.class)
        .map(found -> (Map<NodeId, InetAddress>) found)
        .orElse(Map.of());
  }

  // ---- the network

  /**
   * Returns the plan of the stored configuration.
   *
   * @param apply whether to apply the configuration first
   */
  private DhcpLinks.Plan restore(boolean apply) throws IOException, InterruptedException {
    if (!settings.manage() && !apply) {
      return DhcpLinks.Plan.NONE;
    }
    if (settings.manage() && apply) {
      setup.startLoopback();
      setup.giveSilentPeersUp();
    }
    Stored<byte[]> found = stored.read();
    if (found instanceof Stored.None) {
      return settings.manage() ? DhcpLinks.Plan.DYNAMIC : DhcpLinks.Plan.NONE;
    }
    Net configuration = parse(found.orThrow(), found.path().toString());
    return DhcpLinks.Plan.of(
        apply
            ? apply(configuration, found.path().toString())
            : StaticNetwork.check(configuration, new ArrayList<>()));
  }

  private static Net parse(byte[] bytes, String file) {
    try {
      return Net.parseFrom(bytes);
    } catch (InvalidProtocolBufferException broken) {
      throw new NetworkConfigException(
          "%s is not a network configuration: %s; write it again, or remove it"
              .formatted(file, broken.getMessage()));
    }
  }

  @Override
  public boolean ownsInterfaces() {
    return settings.manage();
  }

  @Override
  public synchronized void configure(Net configuration) throws IOException, InterruptedException {
    if (gave) {
      throw new NetworkConfigException(
          "another instance of this organ configures the network now; ask that instance");
    }
    StaticNetwork network = apply(configuration, "network_config of the node parameters");
    byte[] bytes = configuration.toByteArray();
    boolean same =
        stored.read() instanceof Stored.Present<byte[]>(var _, byte[] before)
            && Arrays.equals(before, bytes);
    if (!same) {
      stored.write(bytes);
    }
    dhcp.follow(DhcpLinks.Plan.of(network));
    poll();
  }

  /** Publishes the present address, and returns whether it is new. */
  private synchronized boolean poll() throws IOException, InterruptedException {
    if (gave) {
      return false;
    }
    // Before the address is published, since the enrolment then waits for these servers.
    if (!timeServers().equals(asked)) {
      keepClock();
    }
    NetworkStatus now = addresses.poll(dhcp.awaited());
    boolean changed = !now.equals(status.peek().orElseThrow());
    if (changed) {
      names.status(now);
      status.set(now);
    }
    return changed;
  }

  private StaticNetwork apply(Net configuration, String where)
      throws IOException, InterruptedException {
    List<String> problems = new ArrayList<>();
    UnknownFields.of(configuration)
        .forEach(
            field ->
                problems.add(
                    field + " is unknown to this version; leave it out, or update the node"));
    StaticNetwork network = StaticNetwork.check(configuration, problems);
    if (!settings.manage()) {
      fields(configuration).forEach(field -> problems.add(field + " was not applied"));
      if (!problems.isEmpty()) {
        throw refused(
            where,
            problems,
            "this node does not own the network of its machine: start it with --manage-network if"
                + " it should, or configure the machine yourself and leave network_config out");
      }
      return network;
    }
    List<String> links = setup.find(network, problems);
    if (!problems.isEmpty()) {
      throw refused(where, problems, "correct the fields; nothing was changed");
    }
    setup.apply(network, links);
    return network;
  }

  /** Names the set fields, with each element of a list. */
  private static List<String> fields(Net configuration) {
    List<String> fields = new ArrayList<>();
    for (int i = 0; i < configuration.getInterfaceCount(); i++) {
      String prefix = "interface[" + i + "].";
      configuration
          .getInterface(i)
          .getAllFields()
          .keySet()
          .forEach(field -> fields.add(prefix + field.getName()));
    }
    for (int i = 0; i < configuration.getNameserverCount(); i++) {
      fields.add("nameserver[" + i + "].ip");
    }
    return fields;
  }

  private static NetworkConfigException refused(
      String where, List<String> problems, String remedy) {
    return new NetworkConfigException(
        "the node cannot apply %s: %s. %s"
            .formatted(
                where,
                String.join("; ", problems),
                Character.toUpperCase(remedy.charAt(0)) + remedy.substring(1)));
  }

  private void follow(Context context) throws IOException, InterruptedException {
    context.log().info("%s", status.peek().orElseThrow());
    context.healthy();
    while (!context.cancelled()) {
      changed.tryAcquire(POLL_INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
      changed.drainPermits();
      if (poll()) {
        context.log().warning("the network has changed: %s", status.peek().orElseThrow());
      }
    }
  }

  @Override
  public Value<NetworkStatus> status() {
    return status;
  }

  @Override
  public void publishLocalName(NodeId node) throws IOException {
    names.local(node);
    if (Machine.isFirstProcess()) {
      nameMachine(node);
    }
  }

  @Override
  public void publishNames(Map<NodeId, InetAddress> nodes) throws IOException {
    names.cluster(nodes);
  }

  private void nameMachine(NodeId node) {
    try {
      Machine.hostName(node.text());
    } catch (PosixException e) {
      // A container may lack this right; no part of the node asks the kernel for the name.
      log.warning("The node does not change the host name: %s", e.getMessage());
    }
  }

  /** Ends the checks; interfaces and files stay unchanged. */
  @Override
  public void close(StopReason reason) {
    health.close();
    subtree.close(reason);
  }
}
