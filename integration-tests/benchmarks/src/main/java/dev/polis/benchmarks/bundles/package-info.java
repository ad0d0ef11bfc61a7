/**
 * The two bundles that {@code SwapBenchmark} puts into each container: one offers a service, the
 * other calls it and measures.
 *
 * <pre>
 *   SwapBenchmark ──"next"──▶ port ─ Caller ──looks up, calls, lets go──▶ Greeter, version n
 *                                      │ counts                                │ is replaced
 *                                      ▼                                      ▼
 *        gap, failed calls, users that lost the service, other bundles    Greeter, version n + 1
 *        stopped or wired anew
 * </pre>
 *
 * <p>They are compiled again when the benchmark runs, for Java 17: Apache Karaf 4.4 runs on nothing
 * newer. They use the framework and nothing else, so that each container gets the same bytes.
 *
 * <p>Not promised: that a component of Declarative Services sees the same. It has a reference of
 * its own, which a container may exchange late.
 *
 * <p>Why not an organ of ours: no other container could run it.
 */
package dev.polis.benchmarks.bundles;
