package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.storage.Storage;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.pki.NodeCredentials;
import dev.polis.supervision.Context;
import dev.polis.wire.version.Version;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/** Waits until the node is a member, then reports and follows. */
final class RoleServer implements LocalRoleServer {

  private final ClusterManager cluster;
  private final Storage storage;
  private final Network network;
  private final Curator curator;
  private final RolePlugins plugins;
  private final Duration heartbeat;
  private final int curatorPort;
  private final ByteString bootId;
  private final Version version;
  private final MutableValue<LocalRoles> roles = new MutableValue<>();

  RoleServer(
      ClusterManager cluster,
      Storage storage,
      Network network,
      Curator curator,
      RolePlugins plugins,
      Duration heartbeat,
      int curatorPort,
      ByteString bootId,
      Version version) {
    this.cluster = cluster;
    this.storage = storage;
    this.network = network;
    this.curator = curator;
    this.plugins = plugins;
    this.heartbeat = heartbeat;
    this.curatorPort = curatorPort;
    this.bootId = bootId;
    this.version = version;
  }

  @Override
  public Value<LocalRoles> roles() {
    return roles;
  }

  void run(Context context) throws InterruptedException {
    cluster.awaitHome();
    InetSocketAddress seed = new InetSocketAddress(awaitAddress(), curatorPort);
    try (RoleConnection connection =
        new RoleConnection(this::credentials, seed, context.subLog("resolver"))) {
      RoleFetch fetch = new RoleFetch(connection, storage.root().data().node().roles(), roles);
      RoleStatusPush push =
          new RoleStatusPush(
              connection, network.status(), curator.status(), curatorPort, bootId, version);
      context.run("fetch", fetch::run);
      context.run("status-push", push::run);
      context.run("heartbeat", new RoleHeartbeat(connection, heartbeat)::run);
      context.healthy();
      followRoles();
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

  private void followRoles() throws InterruptedException {
    try (Watcher<LocalRoles> watcher = roles.watch()) {
      while (true) {
        plugins.want(watcher.get());
      }
    }
  }
}
