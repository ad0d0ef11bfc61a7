package dev.polis.supervision;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Does the work of a runnable. The tree may run it many times, one run after the other, each with a
 * new context; so each run makes its own objects.
 */
@ConsumerType
@FunctionalInterface
public interface Task {

  /**
   * Runs until it fails, is cancelled, or has signalled {@link Context#done()}.
   *
   * @param context this run's place in the tree; invalid after the return
   * @throws InterruptedException when cancelled, the usual end
   * @throws RestartRequest to restart without a failure
   * @throws Exception any failure; it becomes a FATAL log entry and the runnable is restarted
   */
  void run(Context context) throws Exception;
}
