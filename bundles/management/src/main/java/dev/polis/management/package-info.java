/**
 * Serves one node, as opposed to the cluster, to its operators.
 *
 * <pre>
 *   operator ──TLS 1.3, user certificate──▶ listener "management" (7839, owned by the platform)
 *                                                    │
 *                                       NodeManagementEndpoint
 *                                     Logs ──────────┼──▶ LogCalls ──▶ log tree
 *                                     UpdateNode ────┼──▶ refused: there is no image
 *                                     Reboot ────────┼──▶ PowerRequest ──▶ launcher
 *                                                    │    (answer first)
 *                                           RuntimeEndpoint
 *                                     GetRuntime ────┤
 *                                     Restart ───────┼──▶ PowerRequest ──▶ launcher
 *                                                    │
 *                                           AuditEndpoint
 *                                     Read, Verify ──┼──▶ audit log of the platform
 *                                                    │
 *                                           HealthEndpoint
 *                                     GetHealth ─────┤
 *                                     Explain ───────┴──▶ HealthCalls ──▶ health table
 * </pre>
 *
 * <p>The organ depends on the platform alone. So it answers as soon as the node has credentials,
 * also when consensus, curator or roles do not come up, which is when operators need the log.
 *
 * <p>The organ asks the launcher for a power-off. The launcher stops the organs in reverse order:
 * they hand over the leadership, end the children and unmount the volumes. The organ asks only
 * after the answer has left the process, because the process cannot send it later.
 *
 * <p>A restart replaces the process by a new one, with the platform that is then on the disk: only
 * a restart changes the platform. Children and mounts stay; the listeners are closed for about a
 * second.
 *
 * <p>Not promised: that the answer reaches the caller; the network may lose the last packet. Nor a
 * reboot: this node runs as a process on a machine that is not its own, which it neither boots nor
 * switches off.
 *
 * <p>Why not a fixed delay between answer and power off, which is simpler: it is too long for most
 * callers and too short for a slow line. The organ knows the end of the call exactly.
 *
 * <ul>
 *   <li>Needs: BootReport, HealthRegistry, LogTree, RpcHost, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: BindableService
 *   <li>Configuration: none
 *   <li>Files: none
 *   <li>Ports: management
 * </ul>
 */
package dev.polis.management;
