package dev.polis.supervision;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Receives changes of state, for metrics.
 *
 * <p>Calls come one at a time and in order, on the thread that made the change, without locks. A
 * listener must not block, since it may be on the timer's thread; the tree logs its exceptions and
 * ignores them otherwise.
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
