/**
 * Shows the state of a node without credentials, even after a failed start, and gives developers a
 * shell.
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
 * <p>The organ needs only the platform. It reads the state of other organs if they are present, and
 * never waits for them: developers debug exactly a node whose disk does not open, or that never
 * finds its cluster. A condition of an absent organ does not hold; the organ never assumes one.
 *
 * <p>It also checks the process of the node: how its last run ended, and whether its descriptors,
 * threads, memory and processor time suffice ({@link dev.polis.debug.DescriptorCheck}, {@link
 * dev.polis.debug.ThreadCheck}, {@link dev.polis.debug.MemoryCheck}, {@link
 * dev.polis.debug.ProcessorCheck}), also while {@code enabled=false}.
 *
 * <p>Each client that reaches the listener can read the log; the organ warns of this once when it
 * starts. Credentials of Kubernetes give any right in it, so the organ gives them out only with
 * {@code kubeconfig=true}. Pods run the images, so the listener accepts them only with {@code
 * images=true}; the listener "management" accepts them from callers with the permission to change
 * the software of the node, also while {@code enabled=false}. The services change nothing else. The
 * listener is on a loopback address: the node's own if that is one, so that several nodes of one
 * machine have one each, and 127.0.0.1 otherwise; only an operator's {@code debug.address} moves it
 * elsewhere. The RPC host writes the addresses of its listeners to {@code ephemeral/listeners} in
 * the state directory, where {@code polisctl} finds them.
 *
 * <p><b>The shell</b> is Gogo, with its commands that show, start and stop bundles, and the
 * commands that bundles register. It can do all that code in the process can do, so it is off
 * unless {@code shell=true}, which is itself a change of the generation, and the organ writes each
 * line to the log {@code audit}. It listens on a Unix socket with mode 0600 in a folder with mode
 * 0700, and asks the kernel for the user at the other end: it admits only the user that runs the
 * node. It does not ask for the owner's key: that user can read the node's keys and attach a
 * debugger to its process, so a key would add no protection. Each instance of the organ has its own
 * socket, since two instances run during a swap; an open shell ends with its instance. The shell
 * has no commands that install or update bundles: only {@code polisctl plugin} brings bundles,
 * since it verifies them.
 *
 * <p><b>In SPLIT</b>: continues. It shows the state, the logs and the causes.
 *
 * <p>Not promised: secrecy of the log from other users of the same machine. Set {@code
 * enabled=false} to have no debug service.
 *
 * <p>Why not the management listener, with credentials, for all of it? It opens when the node has
 * credentials; before, it cannot recognise its owner.
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
