package dev.polis.roles;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.roles.LocalRoleServer;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.BootReport;
import dev.polis.base.values.Value;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Supervisor;
import java.util.Map;
import java.util.SortedSet;
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

  private final HandOvers.Membership<RoleService> membership;
  private final RoleService service;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public RoleComponent(
      BundleContext bundle,
      RoleConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference HandOvers handOvers,
      @Reference ClusterManager cluster,
      @Reference Storage storage,
      @Reference Network network,
      @Reference Consensus consensus,
      @Reference Curator curator) {
    RoleSettings settings = RoleSettings.of(config);
    RoleService.Parts parts =
        new RoleService.Parts(
            bundle.getBundle().getVersion(),
            boot,
            logs,
            supervisor,
            health,
            cluster,
            storage,
            network,
            consensus,
            curator);
    this.membership =
        handOvers.join(
            "roles", predecessor -> new RoleService(settings, parts, predecessor.take()));
    this.service = membership.instance();
  }

  /**
   * Ends the first collection of plugins; Declarative Services call this after all present ones
   * were added.
   */
  @Activate
  void activated() {
    service.expectNoMorePlugins();
  }

  /** Adds a plugin; Declarative Services call this when a bundle brings a role. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addPlugin(RolePlugin plugin, Map<String, Object> properties) {
    service.add(plugin, properties);
  }

  /**
   * Removes a plugin; Declarative Services call this when the bundle goes. It returns after the
   * plugin's work has ended.
   */
  void removePlugin(RolePlugin plugin) {
    service.remove(plugin);
  }

  @Deactivate
  void deactivate() {
    membership.leave();
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
