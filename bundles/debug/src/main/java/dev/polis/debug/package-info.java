/**
 * Debug: shows a node that may not have come up, without credentials, and gives developers a shell.
 *
 * <pre>
 *   developer ──plain text──▶ listener "debug" (port 7837, always on a loopback address)
 *                                  │
 *            NodeDebugEndpoint ────┤ Logs ──▶ LogCalls ─────────▶ log tree
 *                                  │ LoadImage ──▶ DebugImages ◀┈┈ containers (off unless images=true)
 *                                  │ GetDebugKubeconfig ──▶ DebugKubeconfig ◀┈┈ kubernetes (off unless kubeconfig=true)
 *                                  │ Trace: refused with the reason
 *                DebugEndpoint ────┤ GetComponentLogs ─▶ DebugLogs ──▶ log tree
 *                                  │ GetHealth, Explain ─▶ HealthCalls ──▶ health table
 *                                  │ ListImages ──▶ DebugImages
 *                                  └ GetCondition ──▶ DebugConditions ◀┈┈ storage  network  cluster
 *                                    ListConditions                      consensus  curator
 *                                                                   (each may be absent)
 *   operator ──TLS 1.3──▶ listener "management" ──▶ ImagesEndpoint ──▶ DebugImages
 *   developer ──polisctl shell──▶ ephemeral/shell/shell.N.sock ──▶ ShellServer ──▶ ShellPeer, ShellSession ──▶ Gogo
 *                                  (off unless shell=true)
 * </pre>
 *
 * <p>The organ needs the platform and nothing else. The other organs are looked at if they are
 * there, come and go while it runs, and are never waited for: a node whose disk does not open, or
 * that never finds its cluster, is exactly the one to be debugged. A condition of an absent organ
 * does not hold; it is never assumed.
 *
 * <p>It looks at the process of the node as well: how its last run ended, and whether its
 * descriptors suffice ({@link dev.polis.debug.DescriptorCheck}), also while {@code enabled=false}.
 *
 * <p>Each client that reaches the listener can read the log; the organ warns of this once when it
 * starts. Credentials of Kubernetes are any right in it, so they are handed out only with {@code
 * kubeconfig=true}. Images are what Pods run, so the listener takes them only with {@code
 * images=true}; the listener "management" takes them from callers with the permission to change the
 * software of the node, also while {@code enabled=false}. Nothing else can be changed. The listener
 * is on a loopback address: the node's own if that is one, so that several nodes of one machine
 * have one each, and 127.0.0.1 otherwise; only an operator's {@code debug.address} moves it
 * elsewhere. The RPC host writes where its listeners are to {@code ephemeral/listeners} in the
 * state directory, where {@code polisctl} finds them.
 *
 * <p><b>The shell</b> is Gogo, with its commands that look at bundles, start and stop them, and the
 * commands that bundles register. It can do whatever code in the process can do, so it is off
 * unless {@code shell=true}, which is itself a change of the generation, and each line is written
 * to the log {@code audit}. It listens on a Unix socket with mode 0600 in a folder with mode 0700,
 * and asks the kernel which user is at the other end: only the user that the node runs as gets in.
 * The owner's key is not asked for: that user can read the node's keys and attach a debugger to its
 * process, so a key would add no protection. Each instance of the organ has a socket of its own,
 * since two of them live beside each other during a swap; an open shell ends with its instance.
 * Commands that would install or update bundles are left out: what comes is verified, and comes by
 * {@code polisctl plugin}.
 *
 * <p>Not promised: secrecy of the log from other users of the same machine. Set {@code
 * enabled=false} to have no debug service.
 *
 * <p>Why not the management listener, with credentials, for all of it? It opens when the node has
 * some; before, it cannot tell its owner from anybody else.
 *
 * <ul>
 *   <li>Needs: BootReport, HealthRegistry, LogTree, RpcHost, Supervisor
 *   <li>Uses if there: ClusterManager, Consensus, Containers, Curator, KubeconfigIssuer, Network,
 *       Storage
 *   <li>Provides: BindableService
 *   <li>Configuration: dev.polis.debug
 *   <li>Files: none
 *   <li>Ports: debug, management
 * </ul>
 */
package dev.polis.debug;
