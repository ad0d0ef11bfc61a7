package dev.polis.debug;

import dev.polis.event.Value;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * An organ that may be absent. Safe for any thread.
 *
 * @param <O> its contract
 */
final class AbsentOrgan<O> {
  private final AtomicReference<Optional<O>> present = new AtomicReference<>(Optional.empty());

  void came(O organ) {
    present.set(Optional.of(organ));
  }

  /** A successor may have come before its predecessor went. */
  void went(O organ) {
    present.updateAndGet(now -> now.filter(other -> other != organ));
  }

  /** Whether the organ is there and its present state is such. */
  <S> boolean is(Function<O, Value<S>> state, Predicate<S> wanted) {
    return present.get().map(state).flatMap(Value::peek).filter(wanted).isPresent();
  }
}
