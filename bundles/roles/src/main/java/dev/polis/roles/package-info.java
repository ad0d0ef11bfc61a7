/**
 * Runs the roles that the cluster gives this node, and reports to the cluster which of them run.
 *
 * <pre>
 *   data/node/roles.pb ──"remembered"──▶ wanted roles ◀──"record"── watch of the own record ◀── curator
 *   (once the disk is open)                   │                                               (leader)
 *                                          "starter"                                              ▲
 *                                             ▼                                                   │
 *   RolePlugin role=… (any bundle) ──▶ plugins: one subtree for each role                         │
 *                                             │                                                   │
 *   supervision tree, consensus ──────▶ "running" ──▶ running roles ──"status-push", on change────┤
 *                                             └─────▶ "health": one scope for each wanted role    │
 *                                                                 "heartbeat", every 2.5 s ───────┘
 * </pre>
 *
 * <p>The names in quotes are runnables under {@code root.roles}. Those that talk to the leader are
 * children of {@code server}, which waits until the node is a member; they share one channel that
 * follows the leader, with this node's certificate. It makes no difference if this node itself is
 * the leader.
 *
 * <p>One more child, {@code names}, follows the cluster's nodes and gives their addresses to the
 * network organ, for the hosts file: of the organs that know the leader, this one knows the network
 * too.
 *
 * <p><b>Roles do not wait for the cluster.</b> The roles that were wanted last are remembered on
 * the data volume and start as soon as it is open, so that a node which comes up during an outage
 * does its work. What the cluster says later counts.
 *
 * <p><b>Wanted and running are two things.</b> A role is wanted when the record names it. It runs
 * when its plugin is healthy. A wanted role without a plugin is a condition of its health, {@code
 * role-without-plugin}.
 *
 * <p><b>ConsensusMember has no plugin</b>, because the cluster needs it before any bundle from
 * outside: {@link ConsensusRole}, the child {@code consensus} of {@code server}, leads this node
 * into etcd and out of it. A member on the disk starts without it.
 *
 * <p><b>A role is stopped for a reason</b> ({@link dev.polis.base.boot.StopReason}): ROLE_REMOVED
 * when the record no longer names it, and the launcher's reason when its plugin, this organ or the
 * node goes. Of several plugins of one role one runs; a newer one takes over, and two never run at
 * once.
 *
 * <p><b>Another instance of this organ continues the runs</b> of the roles: they are moved into its
 * subtree of the supervision tree, neither stopped nor started, and keep their names there. A run
 * refers to its plugin only, so the code of the former instance can go. When a plugin is replaced,
 * its run ends with CODE_REPLACED, and the next one adopts what stays.
 *
 * <p><b>In SPLIT</b>: continues. The node runs the roles that it remembers, and learns of no change
 * until a leader answers again.
 *
 * <p><b>Not promised</b>: that a plugin which refuses to end does not delay the others; it does, by
 * {@link RolePlugins#PATIENCE} at most, and supervision names it. That the record of running roles
 * is that of this moment: a node that lost its cluster cannot correct it.
 *
 * <p><b>Why the push is not part of the heartbeat</b>: a status is written to etcd, a heartbeat is
 * not. <b>Why roles are no enum</b>: then only this project could bring one.
 *
 * <ul>
 *   <li>Needs: BootReport, ClusterManager, Consensus, Curator, HandOvers, HealthRegistry, LogTree,
 *       Network, Storage, Supervisor
 *   <li>Uses if there: RolePlugin
 *   <li>Provides: LocalRoleServer
 *   <li>Configuration: dev.polis.roles
 *   <li>Files: data/node/roles.pb
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.roles;
