/**
 * Makes this node run the plugins that the cluster wants of it, and reports what it runs.
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
 * <p><b>What counts.</b> A pin on this node goes before its roles, a role before what is wanted
 * everywhere, and that before the distribution. Of several roles that want different versions the
 * newest counts. When the cluster wants a plugin no more, the node goes back to its distribution's
 * version, or removes a plugin that the distribution does not have; what an operator swapped in by
 * hand stays.
 *
 * <p><b>By hand.</b> A swap by hand that brings another version than the cluster wants is refused
 * by the engine, which reads from the disk what this organ has kept there. One that was forced
 * stays until the cluster wants something else under that name.
 *
 * <p><b>What failed</b> is not tried again until what is wanted, the generation, or the trusted
 * keys have changed; a file that no node gave is asked for again after {@code retry.ms}, and what
 * the disk did not take is written again then. The report says why, in the engine's words. A broken
 * plugin does not keep the others back.
 *
 * <p><b>Without the curator</b> nothing is changed: before it has said for the first time what it
 * wants, no plugin is touched; later, what it said last counts.
 *
 * <p><b>Two instances</b> of this organ live beside each other while it is replaced, also by its
 * own order. Neither has a state of its own, and the engine takes one order at a time, so nothing
 * is handed over.
 *
 * <p><b>Not promised</b>: that all nodes change at the same time, or one after the other; each goes
 * as soon as it hears. That a node which the cluster cannot reach keeps to what it wants.
 *
 * <p><b>Why not in the curator?</b> It runs on some nodes, and this on all. <b>Why not in the swap
 * engine?</b> That belongs to the platform, and this can be replaced while the node runs.
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
