package dev.polis.supervision;

import dev.polis.base.boot.StopReason;
import dev.polis.logtree.Log;
import java.util.Map;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Gives a runnable its name, its log and its signals for one run.
 *
 * <p>Usable by the runnable's own thread and by helper threads it owns, but not by another
 * runnable: a signal on a foreign or outdated context, or out of order, throws {@link
 * SupervisionException}, which makes the caller fail like any other exception.
 *
 * <p>Once a run is cancelled, its signals have no effect, and starting children throws {@link
 * java.util.concurrent.CancellationException}.
 */
@ProviderType
public interface Context {

  /**
   * Returns the distinguished name of the runnable, for example {@code root.network.dhcp}.
   *
   * @return the path from the root
   */
  String dn();

  /**
   * Returns the journal of the runnable.
   *
   * @return for leveled entries
   */
  Log log();

  /**
   * Returns a journal below this DN and reserves its name: no child can have it in this run.
   *
   * @param name one part of a DN, matching {@code [a-z0-9_-]{1,64}}
   * @return the journal; the same one if asked again
   * @throws SupervisionException if the name is malformed or a child has it
   */
  Log subLog(String name);

  /**
   * Signals that this run works: NEW becomes HEALTHY, and the delay of the next restart is reset.
   * Afterwards it can start no children.
   *
   * @throws SupervisionException if this run is not NEW
   */
  void healthy();

  /**
   * Signals that this run has finished its work and will return. After its return it is DONE; its
   * children continue.
   *
   * @throws SupervisionException if this run is not HEALTHY, or has signalled done before
   */
  void done();

  /**
   * Starts a child whose failure affects no sibling.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}, unique among children and sub-logs
   * @param task its work
   * @throws SupervisionException if the name cannot be used, this run is not NEW, or the tree is
   *     full here
   */
  void run(String name, Task task);

  /**
   * Starts children as a group: when one dies, the others are cancelled and all start again.
   *
   * @param tasks by name, started in the order of the map; either all start or none
   * @throws SupervisionException as for {@link #run}
   */
  void group(Map<String, Task> tasks);

  /**
   * Opens a child subtree; while this run is HEALTHY, callers can add runnables to it and close it.
   * The subtree ends with this run, except after DONE.
   *
   * @param name its name, as for {@link #run}
   * @return the subtree
   * @throws SupervisionException as for {@link #run}
   */
  Subtree subtree(String name);

  /**
   * Returns whether this run must end. The tree has then interrupted its thread.
   *
   * @return true once cancelled
   */
  boolean cancelled();

  /**
   * Returns the reason of a final stop of this run, which decides what ends with it; see {@link
   * StopReason}.
   *
   * <p>It may be present later than {@link #cancelled()}: a run that was cancelled for a restart
   * can be stopped before it has returned. A present reason does not change. Any thread may call
   * this, also after the end of the run.
   *
   * @return empty for a run that is not cancelled, or cancelled for a restart: then everything
   *     stays for its next run
   */
  Optional<StopReason> stopReason();

  /**
   * Waits for the cancellation, for a task whose work runs on other threads. On the runnable's own
   * thread it always ends with the exception, and clears the interrupt; on a helper thread it
   * returns when the run is cancelled.
   *
   * @throws InterruptedException if the calling thread is interrupted: on the runnable's own
   *     thread, when it is cancelled
   */
  void awaitCancelled() throws InterruptedException;
}
