package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Starts runnables below one name, and stops them together. It has a name but no task, and accepts
 * runnables while it is open. Usable from any thread.
 */
@ProviderType
public interface Subtree {

  /**
   * The time that {@link #close(StopReason)} waits: long enough for two log lines about a runnable
   * that does not end.
   */
  Duration PATIENCE = Duration.ofSeconds(11);

  /**
   * Returns the distinguished name of the subtree.
   *
   * @return the path from the root
   */
  String dn();

  /**
   * Starts a runnable whose failure affects no sibling.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}, unique in this subtree
   * @param task its work
   * @throws SupervisionException if the name cannot be used, the subtree is closed, or the tree is
   *     full here
   * @throws java.util.concurrent.CancellationException if the subtree is being cancelled
   */
  void run(String name, Task task);

  /**
   * Starts runnables as a group: when one dies, the others are cancelled and all start again.
   *
   * @param tasks by name, started in the order of the map; either all start or none
   * @throws SupervisionException as for {@link #run}
   */
  void group(Map<String, Task> tasks);

  /**
   * Opens a subtree in this one, which can be stopped separately.
   *
   * @param name its name, as for {@link #run}
   * @return the subtree
   * @throws SupervisionException as for {@link #run}
   */
  Subtree subtree(String name);

  /**
   * Moves this subtree, with its running content, into another one without a stop; a close of the
   * former parent no longer reaches it. All distinguished names stay, also those of later runnables
   * in it. An organ uses it to give its runs to its next instance.
   *
   * @param parent the new parent
   * @throws SupervisionException if either is closed, the name is taken there, the parent lies in
   *     this subtree, or it belongs to another tree
   */
  void moveTo(Subtree parent);

  /**
   * Stops all runnables of this subtree for good, waits {@link #PATIENCE} at most, and frees the
   * name.
   *
   * @param reason the reason; each run reads it from {@link Context#stopReason()}. In a subtree
   *     that is stopping already, the first reason counts
   * @return the DNs of those that did not return in time, sorted; empty if all returned
   * @throws SupervisionException if called by a runnable in this subtree, which would wait for
   *     itself
   */
  List<String> close(StopReason reason);

  /**
   * Stops all runnables of this subtree for good and frees the name.
   *
   * <p>It cancels the last started runnable first, and each runnable after its children; the
   * members of a group together. After half of the patience it cancels all the rest at once. This
   * causes no FATAL entry. An ERROR entry names a runnable that has not returned after the
   * patience, and the runnable stays visible as {@code overdue} until it returns. An interrupted
   * caller still waits and keeps its interrupt.
   *
   * @param reason the reason, as for {@link #close(StopReason)}
   * @param patience the longest wait
   * @return the DNs of those that did not return in time, sorted; empty if all returned
   * @throws SupervisionException as for {@link #close(StopReason)}
   */
  List<String> close(StopReason reason, Duration patience);
}
