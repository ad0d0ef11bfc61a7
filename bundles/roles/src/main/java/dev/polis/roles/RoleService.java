package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.health.HealthRegistry;
import dev.polis.pki.NodeCredentials;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.version.Version;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.SortedSet;

/**
 * Runs the roles that are wanted, and exchanges with the cluster what is wanted and what runs.
 *
 * <p>The two do not wait for each other: roles that are remembered run before the cluster is
 * reached.
 */
final class RoleService implements LocalRoleServer {

  /**
   * How this node reports itself.
   *
   * @param heartbeat time between two heartbeats
   * @param curatorPort port of the curator listener of every node
   * @param bootId new with each boot
   * @param version of this organ
   */
  record Reporting(Duration heartbeat, int curatorPort, ByteString bootId, Version version) {}

  private final ClusterManager cluster;
  private final Storage storage;
  private final Network network;
  private final Curator curator;
  private final RolePlugins plugins;
  private final RunningRoles running;
  private final Reporting reporting;
  private final RoleHealth health;
  private final MutableValue<LocalRoles> roles = new MutableValue<>();

  RoleService(
      ClusterManager cluster,
      Storage storage,
      Network network,
      Curator curator,
      RolePlugins plugins,
      Consensus consensus,
      Supervisor supervisor,
      HealthRegistry health,
      Reporting reporting) {
    this.cluster = cluster;
    this.storage = storage;
    this.network = network;
    this.curator = curator;
    this.plugins = plugins;
    this.running = new RunningRoles(plugins.subtrees(), supervisor.runnables(), consensus.status());
    this.health = new RoleHealth(health, roles, plugins.subtrees(), consensus.status());
    this.reporting = reporting;
  }

  @Override
  public Value<LocalRoles> roles() {
    return roles;
  }

  @Override
  public Value<SortedSet<RoleName>> running() {
    return running.value();
  }

  /** Starts all runnables of this organ. */
  void start(Subtree subtree) {
    subtree.run("remembered", this::recall);
    subtree.run("starter", this::startRoles);
    subtree.run("running", running::run);
    subtree.run("health", health::run);
    subtree.run("server", this::serve);
  }

  /**
   * Publishes the roles of before once the data volume is mounted, unless the cluster was faster.
   */
  private void recall(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<DataStatus> data = storage.data().watch()) {
      data.get(DataStatus.Mounted.class::isInstance);
    }
    remembered()
        .read(context.log())
        .ifPresent(
            before -> {
              LocalRoles now = roles.update(known -> known.orElse(before));
              if (now == before) {
                context.log().info("roles remembered from before: %s", before.describe());
              }
            });
    context.done();
  }

  private RememberedRoles remembered() {
    return new RememberedRoles(storage.root().data().node().roles());
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
    cluster.awaitHome();
    InetSocketAddress seed = new InetSocketAddress(awaitAddress(), reporting.curatorPort());
    try (RoleConnection connection =
        new RoleConnection(this::credentials, seed, context.subLog("resolver"))) {
      RoleRecordWatcher record = new RoleRecordWatcher(connection, remembered(), roles);
      RoleStatusPush push =
          new RoleStatusPush(
              connection, network.status(), curator.status(), running.value(), reporting);
      context.run("record", record::run);
      context.run("status-push", push::run);
      context.run("heartbeat", new RoleHeartbeat(connection, reporting.heartbeat())::run);
      context.healthy();
      context.awaitCancelled();
    }
  }

  private NodeCredentials credentials() {
    return cluster.status().peek().orElseThrow().credentials().orElseThrow();
  }

  private InetAddress awaitAddress() throws InterruptedException {
    try (Watcher<NetworkStatus> watcher = network.status().watch()) {
      return ((NetworkStatus.Up) watcher.get(NetworkStatus.Up.class::isInstance)).externalAddress();
    }
  }
}
