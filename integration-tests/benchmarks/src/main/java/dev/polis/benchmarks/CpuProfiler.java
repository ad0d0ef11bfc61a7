package dev.polis.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Measures the CPU time of the whole JVM for each operation, compilers and collector included;
 * other processes do not distort it.
 */
public final class CpuProfiler implements InternalProfiler {

  static final String NANOS = "cpu.ns";

  private long before;

  @Override
  public String getDescription() {
    return "CPU time of the JVM for each operation";
  }

  private static long cpu() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
    before = cpu();
  }

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    long operations = Math.max(1, result.getMetadata().getAllOps());
    return List.of(
        new ScalarResult(
            NANOS, (double) (cpu() - before) / operations, "ns/op", AggregationPolicy.AVG));
  }
}
