package dev.polis.handover;

import dev.polis.base.boot.StopReason;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * One instance of an organ, as it is asked to give its state away and to take it back. Each method
 * but {@link #close} is called on a thread of the platform, one at a time.
 */
@ConsumerType
public interface OrganInstance {

  /**
   * Returns what a successor should know before it takes over. Nothing changes by it.
   *
   * @return nothing, by default
   */
  default OrganState facts() {
    return OrganState.NONE;
  }

  /**
   * Ends what is in progress, stops deciding, and returns the state. From now on this instance
   * changes nothing of what it gave, also when it is closed, unless {@link #resume} is called. What
   * it publishes stays as it is.
   *
   * <p>If it throws, it decides as before.
   *
   * @return the state
   * @throws InterruptedException if the time is up; it decides as before, as for each exception
   */
  OrganState give() throws InterruptedException;

  /**
   * Prepares to take the state back, while the other instance still has it: whatever lets callers
   * wait here instead of failing there. Does nothing by default.
   */
  default void prepare() {}

  /**
   * Decides again.
   *
   * @param state what the other instance gave back; {@link OrganState#NONE} if it gave nothing,
   *     because it has failed
   */
  void resume(OrganState state);

  /**
   * Ends all that this instance opened, and leaves alone what it gave away. Called once, last, on
   * the thread that leaves.
   *
   * @param reason why the instance ends
   */
  void close(StopReason reason);
}
