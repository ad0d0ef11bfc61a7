package dev.polis.cluster.it;

import dev.polis.wire.common.NodeLabels;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Writes growing numbers to one label of a node, and keeps the last acknowledged one. */
final class SteadyWriter implements AutoCloseable {

  private static final String LABEL = "steady-writer";

  private final OwnerApi owner;
  private final String node;
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong acknowledged = new AtomicLong();
  private final SteadyCaller caller;

  private SteadyWriter(OwnerApi owner, String node) {
    this.owner = owner;
    this.node = node;
    this.caller = SteadyCaller.of(this::write);
  }

  static SteadyWriter of(OwnerApi owner, String node) {
    return new SteadyWriter(owner, node);
  }

  private void write() throws Exception {
    long number = begun.incrementAndGet();
    owner.label(node, LABEL, Long.toString(number));
    acknowledged.set(number);
  }

  void awaitMore(String when) throws Exception {
    caller.awaitMore(when);
  }

  void check(String when) {
    caller.check(when);
  }

  long acknowledged() {
    return acknowledged.get();
  }

  /** Returns the acknowledged number that is missing; empty if none is. */
  List<Long> lost() throws Exception {
    long expected = acknowledged.get();
    long stored =
        owner.node(node).getLabels().getPairsList().stream()
            .filter(pair -> pair.getKey().equals(LABEL))
            .map(NodeLabels.Pair::getValue)
            .mapToLong(Long::parseLong)
            .findFirst()
            .orElse(0);
    return stored < expected ? List.of(expected) : List.of();
  }

  @Override
  public void close() {
    caller.close();
  }
}
