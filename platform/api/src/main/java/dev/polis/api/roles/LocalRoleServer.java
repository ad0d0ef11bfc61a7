package dev.polis.api.roles;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import java.util.SortedSet;
import org.osgi.annotation.versioning.ProviderType;

/** Publishes the roles of this node. Thread-safe. */
@Followed
@ProviderType
public interface LocalRoleServer {
  /** Returns the roles that the cluster wants of this node; empty until the first are known. */
  Value<LocalRoles> roles();

  /**
   * Returns the roles that work at this moment. It omits a wanted role without a plugin, or with
   * one that is not healthy yet.
   *
   * @return a value that is never empty
   */
  Value<SortedSet<RoleName>> running();
}
