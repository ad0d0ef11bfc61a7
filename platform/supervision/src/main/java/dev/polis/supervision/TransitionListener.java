package dev.polis.supervision;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Receives changes of state, for metrics.
 *
 * <p>Calls come one at a time and in order, on a thread that belongs to this listener, a moment
 * after the change. A listener that hangs holds nothing but itself: the log names it, and changes
 * wait for it up to a limit; beyond the limit the tree drops the oldest. The tree logs the
 * exceptions of a listener and ignores them otherwise. Calls end with the tree.
 */
@ConsumerType
public interface TransitionListener {

  /**
   * Receives a change of a runnable's state.
   *
   * @param transition the change
   */
  void changed(Transition transition);

  /**
   * Receives the end of a runnable, which may return under the same name.
   *
   * @param dn its distinguished name
   */
  void removed(String dn);
}
