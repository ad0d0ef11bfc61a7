package dev.polis.handover.following;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import java.util.Optional;

/**
 * Shows the value that a method of the present provider returns.
 *
 * @param calls how the method is called
 * @param <T> what the value holds
 */
record FollowedValue<T>(MethodCalls<Value<T>> calls) implements Value<T> {

  @Override
  public Watcher<T> watch() {
    FollowedWatcher<T> watcher = new FollowedWatcher<>(calls);
    calls.gate().register(watcher);
    return watcher;
  }

  @Override
  public Optional<T> peek() {
    return calls.call(Value::peek);
  }

  @Override
  public String toString() {
    return "Value of " + calls;
  }
}
