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
 * runnable: what is signalled with a foreign or outdated context, or out of order, throws {@link
 * SupervisionException} at the caller, which then fails by it like by any other exception.
 *
 * <p>Once a run is cancelled, its signals have no effect, and starting children throws {@link
 * java.util.concurrent.CancellationException}.
 */
@ProviderType
public interface Context {

  /**
   * Returns the distinguished name, for example {@code root.network.dhcp}.
   *
   * @return the path from the root
   */
  String dn();

  /**
   * Returns the journal at this DN.
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
   * Says that this run works: NEW becomes HEALTHY and the delay of the next restart is reset. From
   * now on no children can be started.
   *
   * @throws SupervisionException if this run is not NEW
   */
  void healthy();

  /**
   * Says that this run has finished its work and will return. Once it has, it is DONE; its children
   * run on.
   *
   * @throws SupervisionException if this run is not HEALTHY, or said so already
   */
  void done();

  /**
   * Starts a child that fails alone.
   *
   * @param name its name, matching {@code [a-z0-9_-]{1,64}}, unique among children and sub-logs
   * @param task what it does
   * @throws SupervisionException if the name cannot be used, this run is not NEW, or the tree is
   *     full here
   */
  void run(String name, Task task);

  /**
   * Starts children that fall together: when one dies, the others are cancelled and all start
   * again.
   *
   * @param tasks by name, started in the order of the map; either all are started or none
   * @throws SupervisionException as for {@link #run}
   */
  void group(Map<String, Task> tasks);

  /**
   * Opens a child subtree, to which runnables can be added and which can be closed while this run
   * is HEALTHY. If this run ends, so does the subtree; unless it is DONE, whose children run on.
   *
   * @param name its name, as for {@link #run}
   * @return the subtree
   * @throws SupervisionException as for {@link #run}
   */
  Subtree subtree(String name);

  /**
   * Returns whether this run is to end. Its thread has then been interrupted.
   *
   * @return true once cancelled
   */
  boolean cancelled();

  /**
   * Returns why this run was cancelled for good, and so what has to end with it; see {@link
   * StopReason}.
   *
   * <p>It may be present later than {@link #cancelled()}: a run that was cancelled to be started
   * again can be stopped before it has returned. Once present it does not change. Usable from any
   * thread, also after the run has ended.
   *
   * @return empty as long as this run is not cancelled, and if it is cancelled only to be started
   *     again: then everything stays for its next run
   */
  Optional<StopReason> stopReason();

  /**
   * Waits for the end, for tasks whose work is done by others. On the runnable's own thread it
   * always ends with the exception, and leaves no interrupt behind; on a helper thread it returns
   * when the run is cancelled.
   *
   * @throws InterruptedException if the calling thread is interrupted: on the runnable's own
   *     thread, when it is cancelled
   */
  void awaitCancelled() throws InterruptedException;
}
