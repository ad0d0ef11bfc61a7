package dev.polis.cluster.it;

import dev.polis.wire.common.NodeLabels;
import java.util.concurrent.atomic.AtomicLong;

/** Writes growing numbers to one label of a node, and keeps the last acknowledged one. */
final class NumberedWriter {

  private static final String LABEL = "numbered-writer-";

  private final OwnerApi owner;
  private final String node;
  private final String label;
  private final AtomicLong begun;
  private final AtomicLong acknowledged;

  /** Continues a number, so that the numbers of one label grow over all loads of a node. */
  NumberedWriter(OwnerApi owner, String node, int number, long from) {
    this.owner = owner;
    this.node = node;
    this.label = LABEL + number;
    this.begun = new AtomicLong(from);
    this.acknowledged = new AtomicLong(from);
  }

  void write() throws Exception {
    long number = begun.incrementAndGet();
    owner.label(node, label, Long.toString(number));
    acknowledged.set(number);
  }

  String label() {
    return label;
  }

  /** Returns the greatest number that was sent, with or without an answer. */
  long begun() {
    return begun.get();
  }

  long acknowledged() {
    return acknowledged.get();
  }

  /** Returns this writer's number in a record of the node; 0 if there is none. */
  long in(NodeLabels labels) {
    return labels.getPairsList().stream()
        .filter(pair -> pair.getKey().equals(label))
        .mapToLong(pair -> Long.parseLong(pair.getValue()))
        .findFirst()
        .orElse(0);
  }
}
