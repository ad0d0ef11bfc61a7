/**
 * Answers Kubernetes clients on nodes with the role KubernetesController.
 *
 * <pre>
 *   role server ──runs──▶ KubernetesService ────HttpsTask────▶ port 6444 of the node's address
 *                              ▲        ▲                          │ TLS 1.3, the node's certificate
 *       ClusterManager: credentials   Network: address             ▼
 *                                                        KubernetesHandler: 503, a v1.Status in words
 * </pre>
 *
 * <p>Clients of the reference system connect to this port when they take ownership of a cluster or
 * configure kubectl, and read the node's certificate there: one certificate whose only DNS name is
 * the node's id. So the port is open from the first start of a controller node, long before an API
 * server is. Later the proxy that authenticates users for the API server stands behind it.
 *
 * <p>Not promised: Kubernetes. While the role runs, its health is DEGRADED by the condition {@code
 * no-api-server}, and the role is not listed as running. No client certificate is asked for, since
 * everybody gets the same answer.
 *
 * <p>Why not a listener of the metrics organ or of the RPC host: a role is served by the nodes that
 * have it and by no others, and ends when the cluster takes the role away.
 *
 * <ul>
 *   <li>Needs: ClusterManager, HealthRegistry, Network
 *   <li>Uses if there: none
 *   <li>Provides: RolePlugin
 *   <li>Configuration: dev.polis.kubernetes
 *   <li>Files: none
 *   <li>Ports: 6444
 * </ul>
 */
package dev.polis.kubernetes;
