/**
 * Roles: what the cluster asks this node to do, and the plugins that do it.
 *
 * <pre>
 *   curator's record of this node ──watch──▶ role server ──start / stop──▶ RolePlugin role=…
 *                                                │                        RolePlugin role=…
 *                                                └──▶ Value&lt;LocalRoles&gt;
 * </pre>
 *
 * <p>A role is an OSGi service that implements {@link dev.polis.api.roles.RolePlugin} and carries
 * the property {@code role}. It is started when the record of this node names that role and stopped
 * when it does not, or when the plugin goes away. Stopping is a wish, not a failure: it leaves no
 * FATAL entry and causes no back-off.
 *
 * <p>Not promised: an order between roles. A role that needs another one watches its services.
 */
@Export
@Version("1.0.0")
package dev.polis.api.roles;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
