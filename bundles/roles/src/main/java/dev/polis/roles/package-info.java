/**
 * Roles: reports this node to its cluster, learns what the cluster wants of it, and does it.
 *
 * <pre>
 *   network ─┐                     ┌─▶ heartbeat ──every 2.5 s──▶ curator
 *   curator ─┼─▶ status push ──────┼─────on change─────────────▶ (leader)
 *            │                     │                               │
 *            │                     └── watch of the own record ◀───┘
 *            │                                  │
 *            │                  data/node/roles.pb   (remembered for the next start)
 *            ▼                                  ▼
 *        RolePlugin ◀── start / stop ── Value&lt;LocalRoles&gt;
 * </pre>
 *
 * <p>All three talk to the leader over one channel that follows it, with this node's certificate,
 * like every other node does; that the leader is usually this very node makes no difference.
 *
 * <p>The remembered roles are started before the cluster is reached, so that a node that comes up
 * during an outage does its work. A role that stops is closed as a subtree: that is a wish, leaves
 * no FATAL behind and causes no back-off.
 *
 * <p>Not promised: that a plugin which refuses to end is replaced while it lingers; supervision
 * names it.
 *
 * <p>Why the push is not part of the heartbeat: a status is written to etcd, a heartbeat is not.
 *
 * <ul>
 *   <li>Needs: BootReport, ClusterManager, Curator, HealthRegistry, LogTree, Network, Storage,
 *       Supervisor
 *   <li>Uses if there: RolePlugin
 *   <li>Provides: LocalRoleServer
 *   <li>Configuration: dev.polis.roles
 *   <li>Files: data/node/roles.pb
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.roles;
