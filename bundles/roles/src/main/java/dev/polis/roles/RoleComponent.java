package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.Role;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.boot.BootReport;
import dev.polis.event.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.version.Version;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the roles organ. */
@Component(service = LocalRoleServer.class, configurationPid = "dev.polis.roles", immediate = true)
@Designate(ocd = RoleConfig.class)
public final class RoleComponent implements LocalRoleServer {

  /** Length of a boot id in bytes, as in the wire format. */
  private static final int BOOT_ID_BYTES = 16;

  private final BootReport boot;
  private final Subtree subtree;
  private final HealthScope health;
  private final RolePlugins plugins;
  private final RoleServer server;

  /** Activates the organ, which waits until the node is a member. */
  @Activate
  public RoleComponent(
      BundleContext bundle,
      RoleConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      @Reference ClusterManager cluster,
      @Reference Storage storage,
      @Reference Network network,
      @Reference Curator curator) {
    this.boot = boot;
    this.subtree = supervisor.organ("roles");
    this.plugins = new RolePlugins(subtree.subtree("plugins"), logs.log(subtree.dn()));
    this.server =
        new RoleServer(
            cluster,
            storage,
            network,
            curator,
            plugins,
            Duration.ofMillis(config.heartbeat_interval()),
            config.curator_port(),
            bootId(),
            version(bundle));
    subtree.run("server", server::run);
    health = healths.organ("roles", subtree.dn());
  }

  static ByteString bootId() {
    byte[] id = new byte[BOOT_ID_BYTES];
    new SecureRandom().nextBytes(id);
    return ByteString.copyFrom(id);
  }

  private static Version version(BundleContext bundle) {
    var version = bundle.getBundle().getVersion();
    return Version.newBuilder()
        .setRelease(
            Version.Release.newBuilder()
                .setMajor(version.getMajor())
                .setMinor(version.getMinor())
                .setPatch(version.getMicro()))
        .build();
  }

  /** A plugin came. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addPlugin(RolePlugin plugin, Map<String, Object> properties) {
    plugins.add(plugin, Role.of(String.valueOf(properties.get(RolePlugin.ROLE))));
  }

  /** A plugin goes; returns when its work has ended. */
  void removePlugin(RolePlugin plugin) {
    plugins.remove(plugin);
  }

  /** Stops reporting and all plugins. */
  @Deactivate
  void deactivate() {
    health.close();
    subtree.close(boot.stopReason());
  }

  @Override
  public Value<LocalRoles> roles() {
    return server.roles();
  }
}
