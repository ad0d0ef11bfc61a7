package dev.polis.base.boot;

import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Reports the progress of an organ to the launcher, and the reason of a stop to the organ.
 *
 * <p>All methods may be called from any thread, return at once, and never throw after the end of
 * the boot.
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
   * Reports that this node is a member of its cluster and serves. Only the first call counts for
   * the boot; later ones replace the summary.
   *
   * @param summary one or more lines for the person at the keyboard: the node's identity and
   *     address
   */
  void home(String summary);

  /**
   * Ends the node because of an error that no retry repairs. The launcher stops the organs in
   * reverse order, prints a fatal error report, and ends the process or parks the machine. Only the
   * first call counts, later ones are logged as its consequences.
   *
   * <p>It returns at once and the organ is stopped from another thread; a caller should end its own
   * work after it.
   *
   * @param organ the organ's name, {@code "storage"}
   * @param cause the error; the innermost message of its chain is printed as the root cause, so it
   *     should name the remedy
   */
  void fatal(String organ, Throwable cause);

  /**
   * Ends the node for good: the organs stop in reverse order with {@link StopReason#POWER_OFF}, so
   * that their children and mounts end, then the process ends. It returns at once; the organ of the
   * caller is stopped from another thread. A second request, or one after another ending has begun,
   * changes nothing.
   *
   * @param reason the requester and the cause in one line, for the person at the keyboard
   */
  void powerOff(String reason);

  /**
   * Restarts the process: the organs stop in reverse order with {@link StopReason#PROCESS_RESTART},
   * so that children and mounts stay, then the process starts with the platform on the disk. It
   * returns at once; the organ of the caller is stopped from another thread. After another ending
   * has begun it changes nothing.
   *
   * @param reason the requester and the cause in one line, for the person at the keyboard
   * @throws IllegalStateException if no program restarts the process
   */
  default void restart(String reason) {
    throw new IllegalStateException("nothing here starts the process again");
  }

  /**
   * Returns the reason why a power-off would lock the owner out, with the remedy. Code that gets a
   * request for a power-off refuses it with this text.
   *
   * @return empty if a power-off does no harm
   */
  default Optional<String> lockOut() {
    return Optional.empty();
  }

  /**
   * Describes the crash of this node's last run.
   *
   * @return one line with the time, the organ, the cause and the file of the record; empty if the
   *     last run did not crash
   */
  default Optional<String> lastCrash() {
    return Optional.empty();
  }

  /**
   * Returns the reason of the present stop. Organs ask it in their deactivate method.
   *
   * @return {@link StopReason#CODE_REPLACED} as long as the node continues, then {@link
   *     StopReason#PROCESS_RESTART} or {@link StopReason#POWER_OFF}; never {@link
   *     StopReason#ROLE_REMOVED}, which concerns roles and not organs
   */
  StopReason stopReason();
}
