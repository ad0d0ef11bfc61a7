package dev.polis.handover.component;

import dev.polis.base.boot.BootReport;
import dev.polis.handover.HandOverListener;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import dev.polis.logtree.LogTree;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.SynchronousBundleListener;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/** Offers the node's one table of hand-overs. */
@Component(immediate = true)
public final class HandOverComponent implements HandOvers {

  private final BundleContext context;
  private final HandOverTable table;
  private final SynchronousBundleListener stops = this::bundleChanged;

  /**
   * Opens the table.
   *
   * @param context tells of bundles that stop
   * @param logs where hand-overs are logged
   * @param boot tells why bundles stop
   */
  @Activate
  public HandOverComponent(
      BundleContext context, @Reference LogTree logs, @Reference BootReport boot) {
    this.context = context;
    this.table = HandOverTable.open(logs, boot::stopReason, HandOverComponent::owner);
    context.addBundleListener(stops);
  }

  @Deactivate
  void deactivate() {
    context.removeBundleListener(stops);
  }

  private static Object owner(OrganInstance instance) {
    Bundle bundle = FrameworkUtil.getBundle(instance.getClass());
    return bundle == null ? instance : bundle;
  }

  private void bundleChanged(BundleEvent event) {
    if (event.getType() == BundleEvent.STOPPED) {
      table.stopped(event.getBundle());
    }
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
  public <I extends OrganInstance, E extends Exception> Membership<I> join(
      String organ, Starter<I, E> starter) throws E {
    return table.join(organ, starter);
  }
}
