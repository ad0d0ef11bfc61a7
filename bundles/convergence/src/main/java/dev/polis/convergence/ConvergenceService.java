package dev.polis.convergence;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.DisownedException;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.pki.NodeCredentials;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.WatchPluginSetRequest;
import java.net.InetSocketAddress;

/**
 * Makes this node run the plugins that the cluster wants, and reports the running plugins to the
 * cluster.
 */
final class ConvergenceService {

  /** Holds the services that the organ uses. */
  record Parts(
      Supervisor supervisor,
      HealthRegistry health,
      LocalPlugins plugins,
      Network network,
      ClusterManager cluster,
      LocalRoleServer roles) {}

  private final ConvergenceSettings settings;
  private final Parts parts;
  private final Subtree subtree;
  private final HealthScope health;

  /** Starts the runnables of the organ, which wait until the node is a member. */
  ConvergenceService(ConvergenceSettings settings, Parts parts) {
    this.settings = settings;
    this.parts = parts;
    this.subtree = parts.supervisor().organ("convergence");
    this.health = parts.health().organ("convergence", subtree.dn());
    subtree.run("member", this::serve);
  }

  private void serve(Context context) throws InterruptedException {
    try {
      parts.cluster().awaitHome();
    } catch (DisownedException removed) {
      context.log().warning("%s; no cluster wants plugins of it", removed.getMessage());
      context.healthy();
      context.done();
      return;
    }
    InetSocketAddress seed =
        new InetSocketAddress(parts.network().awaitAddress(), settings.curatorPort());
    try (LeaderConnection connection =
        new LeaderConnection(this::credentials, seed, context.subLog("resolver"))) {
      MutableValue<WantedSet> wanted = new MutableValue<>();
      MutableValue<Progress> progress = new MutableValue<>(Progress.NONE);
      context.run("wanted-set", child -> follow(child, connection, wanted));
      context.run(
          "converger",
          new Converger(
                  new Converger.Parts(
                      connection.self(),
                      parts.plugins(),
                      parts.roles().roles(),
                      wanted,
                      new PluginFetch(connection::dial, parts.plugins().staged()),
                      progress,
                      health),
                  settings.retry())
              ::run);
      context.run("report", new ReportPush(connection, parts.plugins().inventory(), progress)::run);
      context.healthy();
      ClusterStatus.awaitDisowned(parts.cluster().status());
    }
  }

  /** Follows the wanted plugins; without a leader the last message stays in force. */
  private static void follow(
      Context context, LeaderConnection leader, MutableValue<WantedSet> wanted)
      throws InterruptedException {
    leader.follow(
        context,
        "the watch of the wanted plugins",
        channel ->
            PluginSetGrpc.newBlockingV2Stub(channel)
                .withWaitForReady()
                .watchPluginSet(WatchPluginSetRequest.getDefaultInstance()),
        () ->
            now -> {
              context.log().v(1).info("the cluster wants %d plugins", now.getWantedCount());
              wanted.set(new WantedSet(now.getWantedList(), now.getHoldersList()));
            });
  }

  private NodeCredentials credentials() {
    return parts.cluster().status().peek().orElseThrow().credentials().orElseThrow();
  }

  /** Ends all runnables; an ordered swap continues. */
  void close(StopReason reason) {
    health.close();
    subtree.close(reason);
  }
}
