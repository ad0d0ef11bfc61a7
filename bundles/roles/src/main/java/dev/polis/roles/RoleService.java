package dev.polis.roles;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.DisownedException;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.net.InetSocketAddress;
import java.time.InstantSource;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.osgi.framework.Constants;
import org.osgi.framework.Version;

/**
 * Runs the wanted roles, and exchanges the wanted and the running ones with the cluster.
 *
 * <p>The two do not wait for each other: remembered roles run before the cluster answers.
 */
final class RoleService implements LocalRoleServer, OrganInstance {

  // The names of the values that one instance passes to the next, besides those of its plugins.
  private static final String WANTED = "wanted-roles";
  private static final String RUNNING = "running-roles";

  /** Holds the services that the organ uses. */
  record Parts(
      Version version,
      BootReport boot,
      LogTree logs,
      Supervisor supervisor,
      HealthRegistry health,
      ClusterManager cluster,
      Storage storage,
      Network network,
      Consensus consensus,
      Curator curator) {}

  private final RoleSettings settings;
  private final Parts parts;
  private final Subtree subtree;
  private final HealthScope health;
  private final Log log;
  private final RolePlugins plugins;
  private final RunningRoles running;
  private final NodeReport report;
  private final MutableValue<LocalRoles> roles = new MutableValue<>();
  private final Charge charge = new Charge();

  /**
   * Starts all runnables of the organ; a role runs once it is wanted and its plugin is there.
   * Adopted runs of another instance keep running.
   */
  RoleService(RoleSettings settings, Parts parts, OrganState taken) {
    SortedSet<RoleName> ran = running(taken);
    taken.find(WANTED, LocalRoles.class).ifPresent(roles::set);
    this.settings = settings;
    this.parts = parts;
    this.subtree = parts.supervisor().organ("roles");
    this.log = parts.logs().log(subtree.dn());
    this.report = NodeReport.of(settings.curatorPort(), wire(parts.version()));
    this.plugins = plugins(taken);
    this.health = parts.health().organ("roles", subtree.dn());
    this.running =
        new RunningRoles(
            plugins.subtrees(),
            parts.supervisor().runnables(),
            parts.health().all(),
            parts.consensus().status(),
            ran);
    RoleHealth roleHealth =
        new RoleHealth(parts.health(), roles, plugins.subtrees(), parts.consensus().status());
    subtree.run("remembered", this::publishRemembered);
    subtree.run("starter", this::startRoles);
    subtree.run("running", running::run);
    subtree.run("health", roleHealth::run);
    subtree.run("server", this::serve);
  }

  /** Adopts the runs of another instance, or releases all resources. */
  private RolePlugins plugins(OrganState taken) {
    try {
      return new RolePlugins(subtree, log, parts.boot()::stopReason, taken);
    } catch (RuntimeException unreadable) {
      subtree.close(StopReason.CODE_REPLACED);
      throw unreadable;
    }
  }

  @SuppressWarnings("unchecked") // the value that give() has stored
  private static SortedSet<RoleName> running(OrganState taken) {
    return taken
        .find(RUNNING, SortedSet.class)
        .map(found -> (SortedSet<RoleName>) found)
        .orElse(Collections.emptySortedSet());
  }

  private static dev.polis.wire.version.Version wire(Version version) {
    return dev.polis.wire.version.Version.newBuilder()
        .setRelease(
            dev.polis.wire.version.Version.Release.newBuilder()
                .setMajor(version.getMajor())
                .setMinor(version.getMinor())
                .setPatch(version.getMicro()))
        .build();
  }

  @Override
  public Value<LocalRoles> roles() {
    return roles;
  }

  @Override
  public Value<SortedSet<RoleName>> running() {
    return running.value();
  }

  /** Adds a plugin with the properties of its service, unless its role's name is malformed. */
  void add(RolePlugin plugin, Map<String, Object> properties) {
    String name = String.valueOf(properties.get(RolePlugin.ROLE));
    Optional<String> problem = RoleName.problemOf(name);
    if (problem.isPresent()) {
      log.error(
          "the node does not run role plugin %s: its property %s is \"%s\", which %s",
          plugin.getClass().getName(), RolePlugin.ROLE, name, problem.get());
      return;
    }
    plugins.add(
        plugin,
        new RoleName(name),
        properties.get(Constants.SERVICE_RANKING) instanceof Integer ranking ? ranking : 0,
        (Long) properties.get(Constants.SERVICE_ID));
  }

  /** Removes a plugin; returns after its work has ended. */
  void remove(RolePlugin plugin) {
    plugins.remove(plugin);
  }

  /**
   * Publishes the roles of the last run once the data volume is mounted, unless the cluster was
   * faster.
   */
  private void publishRemembered(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<DataStatus> data = parts.storage().data().watch()) {
      data.get(DataStatus.Mounted.class::isInstance);
    }
    remembered()
        .read(context.log())
        .ifPresent(before -> charge.whileHeld(() -> publishRemembered(before, context.log())));
    context.done();
  }

  private void publishRemembered(LocalRoles before, Log at) {
    LocalRoles now = roles.update(known -> known.orElse(before));
    if (now == before) {
      at.info("remembered roles: %s", before.describe());
    }
  }

  private RememberedRoles remembered() {
    return new RememberedRoles(parts.storage().root().data().node().roles(), health);
  }

  /** Ends the first collection of plugins. */
  void expectNoMorePlugins() {
    plugins.expectNoMore();
  }

  /** Passes the runs and the known state to another instance, without a stop and a start. */
  @Override
  public OrganState give() throws InterruptedException {
    charge.give();
    try {
      return plugins.give().with(WANTED, roles.peek()).with(RUNNING, running.value().peek());
    } catch (InterruptedException hurried) {
      charge.resume();
      throw hurried;
    }
  }

  @Override
  public void resume(OrganState state) {
    state.find(WANTED, LocalRoles.class).ifPresent(roles::set);
    plugins.resume(state, roles.peek().<Set<RoleName>>map(LocalRoles::roles).orElse(Set.of()));
    charge.resume();
  }

  private void startRoles(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<LocalRoles> watcher = roles.watch()) {
      while (true) {
        plugins.want(watcher.get());
      }
    }
  }

  private void serve(Context context) throws InterruptedException {
    try {
      parts.cluster().awaitHome();
    } catch (DisownedException removed) {
      context.log().warning("%s; its roles end", removed.getMessage());
      charge.whileHeld(() -> endRoles(context.log()));
      context.healthy();
      context.done();
      return;
    }
    InetSocketAddress seed =
        new InetSocketAddress(parts.network().awaitAddress(), settings.curatorPort());
    try (LeaderConnection connection =
        new LeaderConnection(this::credentials, seed, context.subLog("resolver"))) {
      RoleRecordWatcher record = new RoleRecordWatcher(connection, remembered(), roles, charge);
      MutableValue<String> copy = new MutableValue<>("");
      RoleStatusPush push =
          new RoleStatusPush(
              connection,
              parts.network().status(),
              parts.curator().status(),
              parts.cluster().status(),
              running.value(),
              copy,
              report,
              health);
      ConsensusRole member =
          new ConsensusRole(
              parts.consensus(), parts.curator(), roles, connection, this::credentials);
      context.run("record", record::run);
      context.run("status-push", push::run);
      context.run(
          "heartbeat",
          new RoleHeartbeat(
                  connection,
                  settings.heartbeat(),
                  health,
                  InstantSource.system(),
                  HostPort.host(seed.getAddress()),
                  this::keepsRecords,
                  copy)
              ::run);
      context.run("consensus", member::run);
      context.run("names", new RoleNodeNames(connection, parts.network())::run);
      context.healthy();
      // The next run then ends the roles.
      ClusterStatus.awaitDisowned(parts.cluster().status());
    }
  }

  private void endRoles(Log at) {
    LocalRoles none = new LocalRoles(new TreeSet<>(), true);
    remembered().write(none, at);
    roles.set(none);
  }

  private boolean keepsRecords() {
    return parts.consensus().status().peek().orElseThrow() instanceof ConsensusStatus.Running;
  }

  private NodeCredentials credentials() {
    return parts.cluster().status().peek().orElseThrow().credentials().orElseThrow();
  }

  /**
   * Ends all runnables of this organ and all plugins, for this reason; the runs of another instance
   * continue.
   */
  @Override
  public void close(StopReason reason) {
    health.close();
    plugins.close();
    subtree.close(reason, RolePlugins.PATIENCE);
  }
}
