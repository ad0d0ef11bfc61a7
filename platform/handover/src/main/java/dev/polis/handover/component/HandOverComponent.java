package dev.polis.handover.component;

import dev.polis.handover.HandOverListener;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import dev.polis.logtree.LogTree;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/** Offers the node's one table of hand-overs. */
@Component(immediate = true)
public final class HandOverComponent implements HandOvers {

  private final HandOverTable table;

  /**
   * Opens the table.
   *
   * @param logs where hand-overs are logged
   */
  @Activate
  public HandOverComponent(@Reference LogTree logs) {
    this.table = HandOverTable.open(logs);
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
