package dev.polis.cluster.it;

import dev.polis.wire.common.NodeLabels;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Writes growing numbers to one label of a node, and keeps the last acknowledged one. */
final class SteadyWriter implements AutoCloseable {

  private static final String LABEL = "steady-writer";

  /** The pause after a refusal, shorter than the interval at which a node measures a full heap. */
  private static final Duration REFUSED = Duration.ofMillis(200);

  private final OwnerApi owner;
  private final String node;
  private final Predicate<Status> passes;
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong acknowledged = new AtomicLong();
  private final SteadyCaller caller;

  private SteadyWriter(OwnerApi owner, String node, Predicate<Status> passes) {
    this.owner = owner;
    this.node = node;
    this.passes = passes;
    this.caller = SteadyCaller.of(this::write);
  }

  static SteadyWriter of(OwnerApi owner, String node) {
    return new SteadyWriter(owner, node, status -> false);
  }

  /**
   * Makes a writer that tries again when the node refuses a write because its heap is full, as the
   * node's message asks.
   */
  static SteadyWriter patient(OwnerApi owner, String node) {
    return new SteadyWriter(
        owner,
        node,
        status ->
            status.getCode() == Status.Code.RESOURCE_EXHAUSTED
                && status.getDescription().startsWith("the node's heap is full"));
  }

  private void write() throws Exception {
    long number = begun.incrementAndGet();
    while (!accepted(number)) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      LockSupport.parkNanos(REFUSED.toNanos());
    }
    acknowledged.set(number);
  }

  private boolean accepted(long number) throws StatusException {
    try {
      owner.label(node, LABEL, Long.toString(number));
      return true;
    } catch (StatusException refused) {
      if (!passes.test(refused.getStatus())) {
        throw refused;
      }
      return false;
    }
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
