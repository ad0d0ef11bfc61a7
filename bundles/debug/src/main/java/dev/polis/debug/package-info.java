/**
 * Debug: looks into a node that may not have come up, without credentials.
 *
 * <pre>
 *   developer ──plain text──▶ listener "debug" (7837, loopback unless configured otherwise)
 *                                  │
 *             NodeDebugService ────┤ Logs ──▶ LogCalls ─────────▶ log tree
 *                                  │ Trace, LoadImage, GetDebugKubeconfig: refused in words
 *             DebugService ────────┤ GetComponentLogs ──────────▶ log tree
 *                                  └ GetCondition ──▶ ConditionBoard ◀┈┈ storage  network  cluster
 *                                                                        consensus  curator
 *                                                                   (each may be absent)
 * </pre>
 *
 * <p>The organ needs the log tree and nothing else. The others are looked at if they are there,
 * come and go while it runs, and are never waited for: a node whose disk does not open, or that
 * never finds its cluster, is exactly the one to be debugged. A condition of an absent organ does
 * not hold; it is never assumed.
 *
 * <p>Whoever reaches the listener reads the log. Therefore nothing here changes anything, the
 * listener stays on the loopback address unless an operator says otherwise, and the organ warns of
 * it once when it starts.
 *
 * <p>Not promised: secrecy of the log from other users of the same machine. Set {@code
 * enabled=false} to have no debug service.
 *
 * <p>Why not the management listener, with credentials? It opens when the node has some; before, it
 * cannot tell its owner from anybody else.
 *
 * <ul>
 *   <li>Needs: LogTree
 *   <li>Uses if there: ClusterManager, Consensus, Curator, Network, Storage
 *   <li>Provides: BindableService
 *   <li>Configuration: dev.polis.debug
 *   <li>Files: none
 *   <li>Ports: debug
 * </ul>
 */
package dev.polis.debug;
