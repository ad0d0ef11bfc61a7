package dev.polis.api.roles;

import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Does the work of one role. A bundle registers it as an OSGi service with the property {@value
 * #ROLE}; the role server runs it as a supervised task.
 */
@ConsumerType
public interface RolePlugin {

  /** Service property: the name of the role, a {@link RoleName}. */
  String ROLE = "role";

  /**
   * Does the role's work until the context is cancelled. It is called on a virtual thread, once for
   * every start, and signals healthy on the context when the role can do its work.
   *
   * <p>When it returns, its threads, watches, connections and listeners have ended. Its child
   * processes, mounts and records end only if {@link Context#stopReason()} has {@link
   * dev.polis.base.boot.StopReason#endsWork()}; otherwise they stay for the next run. A {@code
   * ProcessTask} under the context keeps to this by itself.
   *
   * <p>The role server stops a role with {@code ROLE_REMOVED} when the cluster no longer wants it,
   * with {@code CODE_REPLACED} when the plugin's bundle is stopped or the role server is replaced,
   * and with the launcher's reason when the node stops.
   *
   * <p>A plugin that runs and does not do all of its role's work says so: while it runs it holds a
   * {@code dev.polis.health.HealthScope} of its role with a DEGRADED condition. The role is then
   * wanted and not counted as running.
   *
   * @param context the supervised context, cancelled when the role is to stop
   * @throws InterruptedException when cancelled
   * @throws Exception if the work failed; supervision restarts it with back-off
   */
  void run(Context context) throws Exception;

  /**
   * Returns a task that refers to the plugin alone, so that it may outlive the role server that
   * started it.
   */
  static Task task(RolePlugin plugin) {
    return plugin::run;
  }
}
