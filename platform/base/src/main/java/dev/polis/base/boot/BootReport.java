package dev.polis.base.boot;

import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Reports the progress of an organ to the launcher, and tells an organ why it is stopped.
 *
 * <p>All methods may be called from any thread, return at once, and never throw for a call made too
 * late: after the end of the boot a report is still accepted.
 */
@ProviderType
public interface BootReport {

  /**
   * Opens a wait, shown to the person at the keyboard by its name with its time until it ends.
   *
   * @param name the awaited event as a text for people, without a verb of waiting: {@code "etcd to
   *     elect a leader"}. Two open waits may bear one name.
   * @return the wait; the caller ends it, best by try-with-resources
   */
  Wait waiting(String name);

  /**
   * Returns the waits that have not ended yet.
   *
   * @return the oldest first; empty where they are not kept
   */
  default List<OpenWait> openWaits() {
    return List.of();
  }

  /**
   * Says that this node is a member of its cluster and serves. Only the first call counts for the
   * boot; later ones replace the summary.
   *
   * @param summary one or more lines for the person at the keyboard: who this node is, and where it
   *     can be reached
   */
  void home(String summary);

  /**
   * Ends the node because of an error that no other try would repair. The launcher stops the organs
   * in reverse order, prints a fatal error report, and ends the process or parks the machine. Only
   * the first call counts, later ones are logged as its consequences.
   *
   * <p>It returns at once and the organ is stopped from another thread; a caller should end its own
   * work after it.
   *
   * @param organ the organ's name, {@code "storage"}
   * @param cause why; the innermost message of its chain is printed as the root cause, so it should
   *     say what to do next
   */
  void fatal(String organ, Throwable cause);

  /**
   * Asks for the end of the node, for good: organs are stopped in reverse order with {@link
   * StopReason#POWER_OFF}, so that their children end and their mounts go, then the process ends.
   * It returns at once; the organ of the caller is stopped from another thread. Asking again, or
   * after another ending has begun, changes nothing.
   *
   * @param reason who wants it and why, for the person at the keyboard: one line
   */
  void powerOff(String reason);

  /**
   * Asks for a new process in place of this one: organs are stopped in reverse order with {@link
   * StopReason#PROCESS_RESTART}, so that children and mounts stay, then the process starts over
   * with the platform that lies on the disk now. It returns at once; the organ of the caller is
   * stopped from another thread. After another ending has begun it changes nothing.
   *
   * @param reason who wants it and why, for the person at the keyboard: one line
   * @throws IllegalStateException where nothing starts the process again
   */
  default void restart(String reason) {
    throw new IllegalStateException("nothing here starts the process again");
  }

  /**
   * Returns why a power-off would lock the owner out, and what to do first. Code that is asked for
   * a power-off refuses it with this text.
   *
   * @return empty if a power-off does no harm
   */
  default Optional<String> lockOut() {
    return Optional.empty();
  }

  /**
   * Returns how the last run of this node crashed.
   *
   * @return one line: when, which organ, why, and where the whole record is; empty if it did not
   */
  default Optional<String> lastCrash() {
    return Optional.empty();
  }

  /**
   * Returns why an organ that is deactivated now is stopped. Organs ask it in their deactivate
   * method.
   *
   * @return {@link StopReason#CODE_REPLACED} as long as the node continues, then {@link
   *     StopReason#PROCESS_RESTART} or {@link StopReason#POWER_OFF}; never {@link
   *     StopReason#ROLE_REMOVED}, which concerns roles and not organs
   */
  StopReason stopReason();
}
