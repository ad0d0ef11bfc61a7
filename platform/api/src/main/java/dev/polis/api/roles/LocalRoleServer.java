package dev.polis.api.roles;

import dev.polis.event.Value;
import org.osgi.annotation.versioning.ProviderType;

/** Publishes the roles of this node. Thread-safe. */
@ProviderType
public interface LocalRoleServer {
  /** Returns the roles; empty until the first are known. */
  Value<LocalRoles> roles();
}
