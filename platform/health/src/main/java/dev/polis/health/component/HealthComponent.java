package dev.polis.health.component;

import dev.polis.base.values.Value;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.HealthStatus;
import dev.polis.health.HealthTable;
import dev.polis.health.PluginStatus;
import dev.polis.supervision.Supervisor;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/** Wires the node's one health table. */
@Component(immediate = true)
public final class HealthComponent implements HealthRegistry {
  private final OrganBundles bundles;
  private final HealthTable table;

  /**
   * Opens the table and follows the framework.
   *
   * @param context the context of this bundle
   * @param supervisor the tree of the observed runnables
   * @param components knows why components are not active
   */
  @Activate
  public HealthComponent(
      BundleContext context,
      @Reference Supervisor supervisor,
      @Reference ServiceComponentRuntime components) {
    bundles = new OrganBundles(context, new OrganDiagnosis(context, components));
    table = HealthTable.open(supervisor, bundles, InstantSource.system());
    bundles.follow(table::changed);
  }

  @Override
  public HealthScope open(HealthKind kind, String name, String supervisionDn) {
    return table.open(kind, name, supervisionDn);
  }

  @Override
  public Value<List<HealthStatus>> all() {
    return table.all();
  }

  @Override
  public Set<String> needs(String organ) {
    return table.needs(organ);
  }

  @Override
  public List<PluginStatus> plugins() {
    return table.plugins();
  }

  /** Ends the watch; organs have closed their scopes before. */
  @Deactivate
  public void close() {
    bundles.close();
    table.close();
  }
}
