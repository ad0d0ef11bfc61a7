/**
 * Runs Kubernetes on nodes with its roles.
 *
 * <pre>
 *   role server ──runs──▶ KubernetesControllerService
 *                            │      │
 *                            │      └─▶ control: kube-apiserver, kube-controller-manager, kube-scheduler
 *                            │              │ keys, certificates
 *                            │              ├─▶ pki ─▶ etcd, as the user kubernetes
 *                            │              └─▶ client ─▶ API server: objects that every cluster has
 *               │            └─▶ proxy: port 6444 of the node's address, for users of the cluster
 *               └──runs──▶ worker: load balancer, kubelet, kube-proxy, DNS, volumes
 *                                │ certificates          │ sandbox
 *                             curator                Containers
 *
 *   operator ──management──▶ audit ─▶ the audit log that kube-apiserver writes
 * </pre>
 *
 * <p>Clients of the reference system connect to port 6444 when they take ownership of a cluster or
 * configure kubectl, and read the node's certificate there: one certificate whose only DNS name is
 * the node's id. So the port is open from the first start of a controller node, long before an API
 * server is.
 *
 * <p><b>In SPLIT</b>: continues. Pods run, and the API server runs and fails the calls that etcd
 * does not answer. The proxy judges callers by the node's last credentials and revocation list.
 *
 * <p>Not promised: Kubernetes on a node without its programs. Such a role is DEGRADED by the
 * condition {@code no-api-server}, and the node does not list it as running.
 *
 * <p>Why not a listener of the metrics organ or of the RPC host: only the nodes with the role serve
 * it, until the cluster takes the role away.
 *
 * <ul>
 *   <li>Needs: ClusterManager, Containers, HandOvers, HealthRegistry, Network, ProcessManager,
 *       RpcHost, Storage
 *   <li>Uses if there: none
 *   <li>Provides: BindableService, KubeconfigIssuer, RolePlugin
 *   <li>Configuration: dev.polis.kubernetes
 *   <li>Files: data/kubelet, data/kubernetes-address, data/kubernetes-audit,
 *       data/kubernetes-controller, data/kubernetes-volumes, data/kubernetes-worker
 *   <li>Ports: 6443, 6444, 6445, management
 * </ul>
 */
package dev.polis.kubernetes;
