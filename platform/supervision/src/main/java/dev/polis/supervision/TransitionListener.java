package dev.polis.supervision;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Hears of changes of state, for metrics.
 *
 * <p>Calls come one at a time and in order, on whatever thread made the change, without locks held.
 * A listener must not block, since it may be on the timer's thread; what it throws is logged and
 * otherwise ignored.
 */
@ConsumerType
public interface TransitionListener {

  /**
   * Is called when a runnable has changed its state.
   *
   * @param transition what changed
   */
  void changed(Transition transition);

  /**
   * Is called when a runnable has left the tree. It may come again under the same name.
   *
   * @param dn its distinguished name
   */
  void removed(String dn);
}
