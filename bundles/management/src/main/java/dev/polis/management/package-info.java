/**
 * Management: serves one node to its operators, as opposed to the cluster.
 *
 * <pre>
 *   operator ──TLS 1.3, user certificate──▶ listener "management" (7839, owned by the platform)
 *                                                    │
 *                                       NodeManagementEndpoint
 *                                     Logs ──────────┼──▶ LogCalls ──▶ log tree
 *                                     UpdateNode ────┼──▶ refused in words: there is no image
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
 * also when consensus, curator or roles do not come up, which is when its log is wanted.
 *
 * <p>A power off is asked of the launcher, which stops the organs in reverse order: leadership is
 * given away, children end, volumes are unmounted. The organ asks only after the answer has left
 * the process, since nobody is left to send it afterwards.
 *
 * <p>A restart replaces the process by a new one, with the platform that lies on the disk by then:
 * what stands still while a node runs changes in this way. Children and mounts stay; the listeners
 * are closed for about a second.
 *
 * <p>Not promised: that the answer reached the caller; the last packet may get lost on its way. Nor
 * a reboot: this node runs as a process on a machine that is not its own, which it neither boots
 * nor switches off.
 *
 * <p>Why not a fixed delay between answer and power off, which is simpler: it is too long for those
 * who wait and too short for a slow line. The end of the call is known exactly.
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
