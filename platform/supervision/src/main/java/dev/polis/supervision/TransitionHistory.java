package dev.polis.supervision;

import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import java.util.ArrayList;
import java.util.List;

/**
 * A listener that remembers every change, for tests and for short investigations: it grows without
 * limit.
 */
public final class TransitionHistory implements TransitionListener {
  private final MutableValue<List<Transition>> transitions = new MutableValue<>(List.of());

  /** Creates an empty history. */
  public TransitionHistory() {}

  @Override
  public void changed(Transition transition) {
    transitions.update(
        former -> {
          List<Transition> all = new ArrayList<>(former.orElse(List.of()));
          all.add(transition);
          return List.copyOf(all);
        });
  }

  @Override
  public void removed(String dn) {
    // A history keeps what was.
  }

  /**
   * Returns all changes, in order.
   *
   * @return follows the history
   */
  public Value<List<Transition>> transitions() {
    return transitions;
  }

  /**
   * Returns the states that one runnable entered, in order.
   *
   * @param dn its distinguished name
   * @return follows the history
   */
  public List<RunState> states(String dn) {
    return transitions.peek().orElse(List.of()).stream()
        .filter(transition -> transition.dn().equals(dn))
        .map(Transition::to)
        .toList();
  }
}
