/**
 * What an operator sets for Kubernetes, checked, and what follows from it.
 *
 * <pre>
 *   configuration ─▶ KubernetesSettings ─▶ AddressRange: Pods, Services, links
 *                          │
 *          node's address ─┼─▶ KubernetesAddresses: of the node, of its worker
 *          programs folder ┴─▶ KubernetesPrograms ─▶ KubernetesVersion: 1.34 to 1.36
 * </pre>
 *
 * <p>Everything here is decided before a process is started, so that a plan that cannot work is
 * refused with the reason and nothing has to be undone.
 *
 * <p>Not promised: that ranges are free on this machine; who takes them finds out.
 *
 * <p>Why not settings of each role: both roles of a node, and those of all nodes, must agree on the
 * ranges and ports.
 */
package dev.polis.kubernetes.settings;
