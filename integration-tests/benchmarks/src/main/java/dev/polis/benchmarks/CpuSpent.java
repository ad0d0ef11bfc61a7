package dev.polis.benchmarks;

import java.io.IOException;
import java.lang.management.ManagementFactory;

/**
 * Holds the CPU time of all processes that take part in a call, in seconds; other processes do not
 * distort it.
 *
 * @param node the node's JVM, or the server in its place
 * @param etcd its etcd
 * @param client this process
 */
record CpuSpent(double node, double etcd, double client) {

  static CpuSpent soFar(NodeUnderTest node) throws IOException {
    return soFar(node, node.pid());
  }

  /** Counts another server in the place of the node's JVM. */
  static CpuSpent soFar(NodeUnderTest node, long server) throws IOException {
    return new CpuSpent(
        ProcessSample.of(server).cpuSeconds(),
        ProcessSample.of(node.etcd().pid()).cpuSeconds(),
        ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
                .getProcessCpuTime()
            / 1e9);
  }

  CpuSpent plus(CpuSpent more) {
    return new CpuSpent(node + more.node, etcd + more.etcd, client + more.client);
  }

  CpuSpent since(CpuSpent before) {
    return new CpuSpent(node - before.node, etcd - before.etcd, client - before.client);
  }

  double all() {
    return node + etcd + client;
  }

  /** Returns {@code node + etcd + client}, in microseconds per call. */
  String each(long calls) {
    return Report.number(
        "%.0f + %.0f + %.0f µs", node / calls * 1e6, etcd / calls * 1e6, client / calls * 1e6);
  }
}
