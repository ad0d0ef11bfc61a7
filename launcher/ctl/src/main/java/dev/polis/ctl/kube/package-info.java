/**
 * Implements the commands about Kubernetes: its status, a kubeconfig, credentials for kubectl,
 * images.
 *
 * <pre>
 *   kube status   ──▶ KubeApi ──▶ API server ──▶ KubeStatus ──▶ Document
 *                     HealthReport of the nodes ──▶ │
 *   kubeconfig    ──▶ KubeEndpoint ──▶ Kubeconfig ──▶ file ──┐ runs
 *   kubectl ─────────────────────────────────────────────────┴▶ KubeCredentialsCommand
 *   image load    ──▶ the node's management port
 * </pre>
 *
 * <p>The kubeconfig holds no key: kubectl runs {@code KubeCredentialsCommand}, which gives it the
 * owner's certificate.
 *
 * <p>Not promised: what kubectl shows better. Only what belongs to the node, its roles and its
 * programs is shown here.
 *
 * <p>Why not a Kubernetes client library: four reads of JSON need none, and each would be larger
 * than polisctl.
 */
package dev.polis.ctl.kube;
