package dev.polis.handover.component;

import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Gives one bundle the table of hand-overs, for as long as the bundle uses it. An instance that has
 * not left by then leaves: its component failed after it had joined, and no other code ends it.
 */
final class BundleHandOvers implements HandOvers, AutoCloseable {
  private final HandOverTable table;
  private final List<Membership<?>> joined = new CopyOnWriteArrayList<>();

  BundleHandOvers(HandOverTable table) {
    this.table = table;
  }

  @Override
  public <I extends OrganInstance, E extends Exception> Membership<I> join(
      String organ, Starter<I, E> starter) throws E {
    Membership<I> membership = table.join(organ, starter);
    joined.add(membership);
    return membership;
  }

  @Override
  public void close() {
    joined.reversed().forEach(membership -> membership.leave(() -> {}));
  }
}
