package dev.polis.supervision;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import java.util.ArrayList;
import java.util.List;

/** Records every change of state, without a limit. */
public final class TransitionHistory implements TransitionListener {
  private final List<Transition> all = new ArrayList<>();
  private final MutableValue<Integer> size = new MutableValue<>(0);

  /** Creates an empty history. */
  public TransitionHistory() {}

  @Override
  public void changed(Transition transition) {
    synchronized (all) {
      all.add(transition);
    }
    size.update(former -> former.orElse(0) + 1);
  }

  @Override
  public void removed(String dn) {
    // A history keeps all changes.
  }

  /**
   * Returns all changes, in order.
   *
   * @return a watcher of the history
   */
  public Value<List<Transition>> transitions() {
    return Values.map(size, count -> copy());
  }

  /**
   * Returns the states that one runnable has entered, in order.
   *
   * @param dn its distinguished name
   * @return oldest first
   */
  public List<RunState> states(String dn) {
    return copy().stream()
        .filter(transition -> transition.dn().equals(dn))
        .map(Transition::to)
        .toList();
  }

  private List<Transition> copy() {
    synchronized (all) {
      return List.copyOf(all);
    }
  }
}
