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
   * A runnable changed its state.
   *
   * @param transition what changed
   */
  void changed(Transition transition);

  /**
   * A runnable left the tree. It may come again under the same name.
   *
   * @param dn its distinguished name
   */
  void removed(String dn);
}
