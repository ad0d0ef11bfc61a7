/**
 * Serves metrics of this node and its programs over HTTPS, for Prometheus.
 *
 * <pre>
 *   Prometheus ── TLS 1.3, certificate of a node or user ──▶ TlsTask (7840, the node's address)
 *                                                                 │  MetricsAccess: who may read
 *                                                                 ▼
 *   /metrics/NAME ◀────────────────┬──────────────────── MetricsHandler ──▶ /metrics, /metrics/core
 *        │                         │                            │               │ at each scrape
 *   MetricsExporter services   /metrics/node              /discovery      JVM · supervision · bundles
 *   (etcd and others)          NodeExporter: child        NodeDiscovery:  · RPC · log tree
 *                              process on loopback        asks the leader
 * </pre>
 *
 * <p>The organ reads metrics at the moment of a scrape; between two scrapes it computes nothing and
 * has no timer. It only counts state changes in the supervision tree as they happen, at the cost of
 * one addition each.
 *
 * <p>The server starts when the node has an address and credentials, and listens anew when the
 * address changes. It reads credentials, the cluster's CA and the list of revoked certificates at
 * each handshake and, as connections may be old, at each request: renewal and revocation need no
 * restart.
 *
 * <p>The exporter reads public files of the kernel. On a node that is root it runs under an account
 * that exists only as a number; if other accounts cannot run its program, or a container keeps the
 * account from the node, it runs as root, and the log names the reason. The organ reports, ends and
 * restarts an exporter that does not answer.
 *
 * <p><b>In SPLIT</b>: continues. Readers are judged by the node's last credentials and revocation
 * list, and the page shows SPLIT.
 *
 * <p>Not promised: counts from before this organ was started, where the source does not keep them.
 * The counters of a runnable end with it; a runnable that starts again counts from zero.
 *
 * <p>Why not a listener of the RPC host: Prometheus speaks HTTP/1.1, the host gRPC. Why not
 * Prometheus' own HTTP server: it has one certificate for its whole life.
 *
 * <ul>
 *   <li>Needs: BootReport, ClusterManager, HealthRegistry, LogTree, Network, ProcessManager,
 *       RpcHost, Storage, Supervisor
 *   <li>Uses if there: MetricsExporter
 *   <li>Provides: none
 *   <li>Configuration: dev.polis.metrics
 *   <li>Files: none
 *   <li>Ports: 7840, 7841
 * </ul>
 */
package dev.polis.metrics;
