package dev.polis.roles;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.boot.BootReport;
import dev.polis.event.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.version.Version;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
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
  private final Log log;
  private final Subtree subtree;
  private final HealthScope health;
  private final RolePlugins plugins;
  private final RoleService service;

  /** Activates the organ, which reports to the cluster once the node is a member. */
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
      @Reference Consensus consensus,
      @Reference Curator curator) {
    this.boot = boot;
    this.subtree = supervisor.organ("roles");
    this.log = logs.log(subtree.dn());
    this.plugins = new RolePlugins(subtree.subtree("plugins"), log, boot::stopReason);
    this.service =
        new RoleService(
            cluster,
            storage,
            network,
            curator,
            plugins,
            consensus,
            supervisor,
            healths,
            new RoleService.Reporting(
                Duration.ofMillis(config.heartbeat_interval()),
                config.curator_port(),
                bootId(),
                version(bundle)));
    service.start(subtree);
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

  /** Takes a plugin in, unless the name of its role is malformed. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addPlugin(RolePlugin plugin, Map<String, Object> properties) {
    String name = String.valueOf(properties.get(RolePlugin.ROLE));
    Optional<String> problem = RoleName.problemOf(name);
    if (problem.isPresent()) {
      log.error(
          "role plugin %s is not run: its property %s is \"%s\", which %s",
          plugin.getClass().getName(), RolePlugin.ROLE, name, problem.get());
      return;
    }
    plugins.add(
        plugin,
        new RoleName(name),
        properties.get(Constants.SERVICE_RANKING) instanceof Integer ranking ? ranking : 0,
        (Long) properties.get(Constants.SERVICE_ID));
  }

  /** Forgets a plugin that goes; returns when its work has ended. */
  void removePlugin(RolePlugin plugin) {
    plugins.remove(plugin);
  }

  /** Stops reporting and all plugins. */
  @Deactivate
  void deactivate() {
    health.close();
    plugins.close();
    subtree.close(boot.stopReason(), RolePlugins.PATIENCE);
  }

  @Override
  public Value<LocalRoles> roles() {
    return service.roles();
  }

  @Override
  public Value<SortedSet<RoleName>> running() {
    return service.running();
  }
}
