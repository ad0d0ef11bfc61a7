package dev.polis.supervision;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Does the work of a runnable. It may be run many times, one after the other, each time with a new
 * context; so what a run needs it makes itself.
 */
@ConsumerType
@FunctionalInterface
public interface Task {

  /**
   * Runs until it fails, is cancelled, or has said {@link Context#done()}.
   *
   * @param context this run's place in the tree; of no use after the return
   * @throws InterruptedException when cancelled, the usual end
   * @throws RestartRequest to be started afresh without having failed
   * @throws Exception any failure; it becomes a FATAL log entry and the runnable is restarted
   */
  void run(Context context) throws Exception;
}
