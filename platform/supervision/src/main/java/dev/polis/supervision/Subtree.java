package dev.polis.supervision;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A part of the tree that somebody opened and will close. It has a name but no task; runnables can
 * be added as long as it is open. Usable from any thread.
 */
@ProviderType
public interface Subtree extends AutoCloseable {

  /**
   * How long {@link #close()} waits: long enough for whoever refuses to be named in the log twice.
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
   * Stops everything in this subtree, without FATAL entries, waits {@link #PATIENCE} at most, and
   * frees the name. Who has not returned by then is named in an ERROR entry and stays visible as
   * {@code overdue} until it does. An interrupted caller waits all the same and keeps its
   * interrupt.
   *
   * @throws SupervisionException if called by a runnable in this subtree, which would wait for
   *     itself
   */
  @Override
  void close();

  /**
   * Stops everything in this subtree like {@link #close()}.
   *
   * @param patience how long to wait at most
   * @return the DNs of those that had not returned in time, sorted; empty is good
   */
  List<String> close(Duration patience);
}
