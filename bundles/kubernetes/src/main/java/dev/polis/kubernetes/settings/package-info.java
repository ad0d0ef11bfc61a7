/**
 * Checks the operator's settings of Kubernetes, and derives addresses and programs from them.
 *
 * <pre>
 *   configuration ─▶ KubernetesSettings ─▶ AddressRange: Pods, Services, links
 *                          │
 *          node's address ─┼─▶ KubernetesAddresses: of the node, of its worker
 *          programs folder ┴─▶ KubernetesPrograms ─▶ KubernetesVersion: 1.34 to 1.36
 * </pre>
 *
 * <p>The checks come before the start of any process, so a refusal leaves nothing to undo.
 *
 * <p>Not promised: that ranges are free on this machine; the code that uses them checks that.
 *
 * <p>Why not settings of each role: both roles of a node, and the roles of all nodes, must agree on
 * the ranges and ports.
 */
package dev.polis.kubernetes.settings;
