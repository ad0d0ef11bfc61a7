package dev.polis.handover.component;

import dev.polis.handover.HandOverListener;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.logtree.LogTree;
import java.util.Hashtable;
import org.osgi.annotation.bundle.Capability;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/** Offers the node's one table of hand-overs, to each bundle for itself. */
@Component(
    service = {},
    immediate = true)
@Capability(
    namespace = "osgi.service",
    attribute = "objectClass:List<String>=\"dev.polis.handover.HandOvers\"",
    uses = HandOvers.class)
public final class HandOverComponent implements ServiceFactory<HandOvers> {

  private final HandOverTable table;
  private ServiceRegistration<HandOvers> registration; // null until it is activated

  /**
   * Opens the table.
   *
   * @param logs where hand-overs are logged
   */
  @Activate
  public HandOverComponent(@Reference LogTree logs) {
    this.table = HandOverTable.open(logs);
  }

  /** Declarative Services calls this after it has added all listeners that are there. */
  @Activate
  void offer(BundleContext context) {
    registration = context.registerService(HandOvers.class, this, new Hashtable<>());
  }

  @Deactivate
  void withdraw() {
    registration.unregister();
  }

  /** Declarative Services calls this when a bundle wants to learn of hand-overs. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addListener(HandOverListener listener) {
    table.add(listener);
  }

  /** Declarative Services calls this when the bundle goes. */
  void removeListener(HandOverListener listener) {
    table.remove(listener);
  }

  @Override
  public HandOvers getService(Bundle user, ServiceRegistration<HandOvers> own) {
    return new BundleHandOvers(table);
  }

  @Override
  public void ungetService(Bundle user, ServiceRegistration<HandOvers> own, HandOvers used) {
    ((BundleHandOvers) used).close();
  }
}
