/**
 * Describes the node's container runtime, and its sandbox on the machine.
 *
 * <pre>
 *   role KubernetesWorker ──start(request)──▶ Containers ──owns──▶ sandbox: namespaces, mounts, cgroups
 *          │                                      └──────owns──▶ containerd (child process) ──▶ shims ──▶ containers
 *          └── Sandbox.command(kubelet …) ── runs beside them
 *
 *              start…              answers                     stop()
 *   Stopped ────────▶ Starting ─────────────▶ Running ────────────────────▶ Stopped
 *                      │    ▲                    │
 *              refused ▼    │ next attempt       │ containerd died
 *                     Failed┘◀───────────────────┘ (by way of Starting)
 * </pre>
 *
 * <p>On a developer's machine the sandbox is a network and a mount namespace of its own, so that
 * nothing of the machine's firewall, files and cgroups changes. On a machine that belongs to the
 * node it is the machine itself.
 *
 * <p>Containers outlive all code of a node: they are children of shims, and no process of the node
 * is the parent of a shim. The next instance of the organ, and the next process, adopt what runs.
 *
 * <p>Not promised: a second user. The organ serves one role at a time; what is asked of containers
 * themselves is asked at the runtime's own socket, by its own protocol (CRI).
 *
 * <p>Why the sandbox belongs here and not to Kubernetes: containerd must mount and connect inside
 * of it, and lives longer than any role's code.
 */
@Export
@Version("1.0.1")
package dev.polis.api.containers;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
