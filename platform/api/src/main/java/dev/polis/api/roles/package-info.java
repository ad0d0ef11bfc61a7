/**
 * Describes the roles that the cluster gives to this node, and their plugins.
 *
 * <pre>
 *   curator's record of this node ──watch──▶ role server ──start / stop──▶ RolePlugin role=…
 *                                                │                        RolePlugin role=…
 *                                                ├──▶ Value&lt;LocalRoles&gt;  the roles that are wanted
 *                                                └──▶ the roles that run, reported to the cluster
 * </pre>
 *
 * <p>A role is an OSGi service that implements {@link dev.polis.api.roles.RolePlugin} and carries
 * the property {@code role}. Names are open, see {@link dev.polis.api.roles.RoleName}: any bundle
 * can bring a role. It is started when the record of this node names that role. It is stopped, for
 * a {@link dev.polis.base.boot.StopReason}, when the record does not, when the plugin goes away, or
 * when the node stops. A stop is not a failure: it leaves no FATAL entry and causes no back-off.
 *
 * <p>Not promised: an order between roles. A role that needs another one watches its services.
 */
@Export
@Version("1.1.1")
package dev.polis.api.roles;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
