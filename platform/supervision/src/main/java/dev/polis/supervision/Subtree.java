package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Starts runnables below one name, and stops them together. It has a name but no task; runnables
 * can be added as long as it is open. Usable from any thread.
 */
@ProviderType
public interface Subtree {

  /**
   * How long {@link #close(StopReason)} waits: long enough that the log names a runnable twice if
   * it does not end.
   */
  Duration PATIENCE = Duration.ofSeconds(11);

  /**
   * Returns the distinguished name.
   *
   * @return the path from the root
   */
  String dn();

  /**
   * Starts a runnable that fails alone.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}, unique in this subtree
   * @param task what it does
   * @throws SupervisionException if the name cannot be used, the subtree is closed, or the tree is
   *     full here
   * @throws java.util.concurrent.CancellationException if the subtree is being cancelled
   */
  void run(String name, Task task);

  /**
   * Starts runnables that fall together: when one dies, the others are cancelled and all start
   * again.
   *
   * @param tasks by name, started in the order of the map; either all are started or none
   * @throws SupervisionException as for {@link #run}
   */
  void group(Map<String, Task> tasks);

  /**
   * Opens a subtree in this one, for what is to be stopped separately.
   *
   * @param name its name, as for {@link #run}
   * @return the subtree
   * @throws SupervisionException as for {@link #run}
   */
  Subtree subtree(String name);

  /**
   * Moves this subtree, with all that runs in it, into another one: nothing is stopped, and what
   * closes the former parent does not reach it any more. Distinguished names stay as they are, also
   * of what is started in it later. For an organ that gives its runs to its next instance.
   *
   * @param parent where it belongs from now on
   * @throws SupervisionException if either is closed, the name is taken there, the parent lies in
   *     this subtree, or it belongs to another tree
   */
  void moveTo(Subtree parent);

  /**
   * Stops everything in this subtree for good, waits {@link #PATIENCE} at most, and frees the name.
   *
   * @param reason why; each run reads it from {@link Context#stopReason()}. If this subtree is
   *     being stopped already, the first reason counts
   * @return the DNs of those that had not returned in time, sorted; empty is good
   * @throws SupervisionException if called by a runnable in this subtree, which would wait for
   *     itself
   */
  List<String> close(StopReason reason);

  /**
   * Stops everything in this subtree for good and frees the name.
   *
   * <p>What was started last is cancelled first, and each runnable after its children; the members
   * of a group are cancelled together. When half of the patience is over, all that are left are
   * cancelled at once. Nothing of this leaves a FATAL entry behind. A runnable that has not
   * returned when the patience is over is named in an ERROR entry and stays visible as {@code
   * overdue} until it returns. An interrupted caller waits all the same and keeps its interrupt.
   *
   * @param reason why, as for {@link #close(StopReason)}
   * @param patience how long to wait at most
   * @return the DNs of those that had not returned in time, sorted; empty is good
   * @throws SupervisionException as for {@link #close(StopReason)}
   */
  List<String> close(StopReason reason, Duration patience);
}
