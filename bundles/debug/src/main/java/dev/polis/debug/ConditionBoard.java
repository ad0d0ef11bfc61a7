package dev.polis.debug;

import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * The conditions one can ask for, each true only while it is true. Safe for any thread.
 *
 * @param conditions by name
 */
record ConditionBoard(Map<String, BooleanSupplier> conditions) {

  /** Whether a condition holds now; empty if there is no such condition. */
  Optional<Boolean> holds(String name) {
    return Optional.ofNullable(conditions.get(name)).map(BooleanSupplier::getAsBoolean);
  }

  SortedSet<String> names() {
    return new TreeSet<>(conditions.keySet());
  }
}
