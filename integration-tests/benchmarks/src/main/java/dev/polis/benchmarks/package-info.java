/**
 * Measures what a node costs and how fast it is, on the distribution as it ships.
 *
 * <pre>
 *   Bench ── StartBenchmark ────▶ processes: java, Felix + SCR, the node   (time to HOME)
 *        ├── IdleBenchmark ─────▶ /proc of the node, of its etcd, of Felix + SCR
 *        ├── CuratorBenchmark ──▶ the node's curator  beside  the etcd it writes to, and  beside  BareServer
 *        ├── WatchBenchmark ────▶ 1,000 streams of the curator  beside  1,000 watches of etcd, and of BareServer
 *        ├── MicroBenchmark ────▶ JMH forks with the node's own JVM options
 *        ├── SwapBenchmark ─────▶ one bundle replaced in a node, in a bare Felix, in Apache Karaf
 *        ├── KubernetesBenchmark▶ a node with both roles of Kubernetes  beside  shell scripts
 *        └── ClusterBenchmark ──▶ three nodes of one cluster  beside  three members of bare etcd
 *                 │
 *                 ▼
 *              Report: one row for each figure, with its baseline, its ratio, its aim
 * </pre>
 *
 * <p>No figure stands alone: a shared machine may be three times slower today than yesterday, so
 * each is printed beside a baseline that was measured in the same run, rounds taken in turn. Aims
 * are printed as they were set; whether they are met on this machine is said, not enforced: a
 * benchmark that fails a build is one that will be switched off.
 *
 * <p>The clients share the machine with what they measure. That costs the curator more than bare
 * etcd, since it has one process more to feed; the report says how many cores there were.
 *
 * <p>Why not JMH for everything: a node is several processes, and what counts is what its operator
 * sees of them, not what a warm loop in one JVM would.
 */
package dev.polis.benchmarks;
