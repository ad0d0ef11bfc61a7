package dev.polis.api.roles;

import dev.polis.supervision.Context;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Does the work of one role. Registered as an OSGi service with the property {@value #ROLE}; the
 * role server runs it as a supervised runnable of its own.
 */
@ConsumerType
public interface RolePlugin {

  /** Service property: the name of the role, one of {@link Role#roleName()}. */
  String ROLE = "role";

  /**
   * Does the role's work until the context is cancelled. Called on a virtual thread, once for every
   * start; signals healthy on the context when the role can do its work. When it returns, all that
   * it took (processes, mounts, listeners, watches) is given back.
   *
   * @param context the supervised context; cancelled when the role is taken away
   * @throws InterruptedException when cancelled
   * @throws Exception if the work failed; supervision restarts it with back-off
   */
  void run(Context context) throws Exception;
}
