/**
 * Makes this node run the plugins that the cluster wants, and reports the running ones.
 *
 * <pre>
 *   curator's leader ──PluginSet.WatchPluginSet──▶ "wanted-set" ──▶ Want: node over role over everywhere
 *        ▲                                                              │
 *        │                                                              ▼
 *        │            LocalPlugins: what runs, how it came ──▶ Step: bring, go back, take away
 *        │                                                              │
 *        │                                                        "converger"
 *        │                                 ┌────────────────────────────┤ one at a time
 *        │                                 ▼                            ▼
 *        │             other nodes ──Plugins.Fetch──▶ staged file ──▶ SwapEngine: verify … gate, commit
 *        │                                                              │
 *        └───────PluginSet.ReportPlugins─── "report" ◀── why not yet ◀──┘
 * </pre>
 *
 * <p>The names in quotes are runnables under {@code root.convergence.member}, which waits until the
 * node is a member. They share one channel that follows the leader, with this node's certificate.
 *
 * <p><b>Precedence.</b> A pin on this node comes before its roles, a role before a want for all
 * nodes, and that before the distribution. Of several roles that want different versions the newest
 * version counts. When the cluster no longer wants a plugin, the node returns to its distribution's
 * version, or removes a plugin that the distribution does not have; a plugin that an operator
 * swapped in by hand stays.
 *
 * <p><b>By hand.</b> The engine refuses a swap by hand to another version than the wanted one; it
 * reads the wanted plugins that this organ has stored on the disk. A forced swap stays until the
 * cluster wants another version under that name.
 *
 * <p><b>Failures.</b> The organ repeats a failed swap only when the wanted plugins, the generation,
 * or the trusted keys have changed; after {@code retry.ms} it asks again for a file that no node
 * gave, and repeats a failed write to the disk. The report quotes the engine's reason. A broken
 * plugin does not delay the others.
 *
 * <p><b>Without the curator</b> the organ changes nothing: before the first message of the curator
 * it touches no plugin; later, the last message counts.
 *
 * <p><b>Two instances</b> of this organ run together during its own replacement. Neither has a
 * state of its own, and the engine takes one order at a time, so there is no hand-over.
 *
 * <p><b>In SPLIT</b>: continues. The last wanted set stays in force.
 *
 * <p><b>Not promised</b>: that all nodes change at the same time, or one after the other; each
 * changes when it gets the message. That a node without contact to the cluster runs the wanted
 * plugins.
 *
 * <p><b>Why not in the curator?</b> The curator runs on some nodes, and this organ on all. <b>Why
 * not in the swap engine?</b> The engine belongs to the platform, and an operator can replace this
 * organ while the node runs.
 *
 * <ul>
 *   <li>Needs: BootReport, ClusterManager, HealthRegistry, LocalPlugins, LocalRoleServer, Network,
 *       Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: none
 *   <li>Configuration: dev.polis.convergence
 *   <li>Files: none
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.convergence;
