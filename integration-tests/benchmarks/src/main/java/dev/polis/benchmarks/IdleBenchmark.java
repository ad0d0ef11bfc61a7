package dev.polis.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What a node takes while nobody asks anything of it. */
final class IdleBenchmark {

  private IdleBenchmark() {}

  private record Watched(String name, long pid, ProcessSample before, ProcessSample after) {
    double cores(Duration over) {
      return (after.cpuSeconds() - before.cpuSeconds()) / over.toMillis() * 1000;
    }
  }

  static void run(Report report, Settings settings, StartBenchmark starts, NodeUnderTest node)
      throws IOException, InterruptedException {
    try (Timed empty = starts.startEmpty()) {
      empty.await();
      pass(settings.settle());
      long etcd = node.etcd().pid();
      ProcessSample nodeBefore = ProcessSample.of(node.pid());
      ProcessSample etcdBefore = ProcessSample.of(etcd);
      ProcessSample emptyBefore = ProcessSample.of(empty.pid());
      pass(settings.idle());
      report(
          report,
          settings,
          new Watched("node", node.pid(), nodeBefore, ProcessSample.of(node.pid())),
          new Watched("etcd", etcd, etcdBefore, ProcessSample.of(etcd)),
          new Watched("empty", empty.pid(), emptyBefore, ProcessSample.of(empty.pid())));
    }
  }

  private static void report(
      Report report, Settings settings, Watched node, Watched etcd, Watched empty) {
    report.section("At rest, at HOME");
    memory(report, node, empty, Aim.atMost(150, " MiB", node.before().mebibytes()));
    memory(report, etcd, empty, Aim.NONE);
    threads(report, node, empty, Aim.atMost(60, "", node.before().threads()));
    threads(report, etcd, empty, Aim.NONE);
    double cores = node.cores(settings.idle());
    cores(report, node, etcd, settings.idle(), Aim.atMost(1, " %", cores * 100));
    cores(report, empty, etcd, settings.idle(), Aim.NONE);
    report.note(
        "Memory and threads "
            + settings.settle().toSeconds()
            + " s after HOME (VmRSS), CPU over the next "
            + settings.idle().toSeconds()
            + " s, from /proc. \"empty\" is Felix + SCR with the same JVM options; \"node\" is the JVM alone, its etcd is listed beside it.");
  }

  private static void memory(Report report, Watched process, Watched baseline, Aim aim) {
    report.row(
        process.name() + ": memory",
        Report.number("%.0f MiB", process.before().mebibytes()),
        Report.number("%s: %.0f MiB", baseline.name(), baseline.before().mebibytes()),
        process.before().mebibytes() / baseline.before().mebibytes(),
        aim);
  }

  private static void threads(Report report, Watched process, Watched baseline, Aim aim) {
    report.row(
        process.name() + ": threads",
        Integer.toString(process.before().threads()),
        baseline.name() + ": " + baseline.before().threads(),
        (double) process.before().threads() / baseline.before().threads(),
        aim);
  }

  private static void cores(
      Report report, Watched process, Watched baseline, Duration over, Aim aim) {
    report.row(
        process.name() + ": CPU",
        Report.number("%.2f %% of a core", process.cores(over) * 100),
        Report.number("%s: %.2f %%", baseline.name(), baseline.cores(over) * 100),
        process.cores(over) / baseline.cores(over),
        aim);
  }

  /** Time itself is what is measured here; nothing could be awaited instead. */
  private static void pass(Duration time) throws InterruptedException {
    new CountDownLatch(1).await(time.toMillis(), TimeUnit.MILLISECONDS);
  }
}
