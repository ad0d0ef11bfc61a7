/**
 * Metrics: what this node and its parts count, for Prometheus.
 *
 * <pre>
 *   Prometheus ──TLS 1.3, node or user certificate──▶ MetricsServer (7840, the node's address)
 *                                                        │  MetricsAccess: who may
 *                                                        ▼
 *       /metrics/etcd ◀──────────────────────────── MetricsPages ──────────▶ /metrics
 *            │                                                                  │ at each scrape
 *         EtcdPage ──▶ etcd on loopback          jvm · supervision · bundles · rpc · log tree
 * </pre>
 *
 * <p>Everything is read at the moment of a scrape; between two scrapes nothing is computed and no
 * timer runs. Only changes of state in the supervision tree are counted as they happen, which costs
 * one addition each.
 *
 * <p>The server starts when the node has an address and credentials, and listens anew when the
 * address changes. Credentials, the cluster's CA and the list of revoked certificates are asked for
 * at each handshake and, as connections may be old, at each request: renewal and revocation need no
 * restart.
 *
 * <p>Not promised: figures from before this organ was started, where the source does not keep them.
 * The counters of a runnable end with it; one that comes again counts from zero.
 *
 * <p>Why not a listener of the RPC host: Prometheus speaks HTTP/1.1, the host gRPC. Why not
 * Prometheus' own HTTP server: it has one certificate for its whole life.
 */
package dev.polis.metrics;
