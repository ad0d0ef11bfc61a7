package dev.polis.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Measures the resources of a node without calls. */
final class IdleBenchmark {

  private IdleBenchmark() {}

  private record Watched(String name, ProcessSample before, ProcessSample after) {
    double cores(Duration over) {
      return (after.cpuSeconds() - before.cpuSeconds()) / over.toMillis() * 1000;
    }
  }

  private record Window(Watched node, Watched etcd, Watched empty) {}

  static void run(Report report, Settings settings, StartBenchmark starts, NodeUnderTest node)
      throws IOException, InterruptedException {
    try (Timed empty = starts.startEmpty()) {
      empty.await();
      long etcd = node.etcd().pid();
      pass(settings.settle());
      Window soon = window(settings.idle(), node.pid(), etcd, empty.pid());
      pass(settings.rest());
      report(report, settings, soon, window(settings.idle(), node.pid(), etcd, empty.pid()));
    }
  }

  private static Window window(Duration over, long node, long etcd, long empty)
      throws IOException, InterruptedException {
    ProcessSample nodeBefore = ProcessSample.of(node);
    ProcessSample etcdBefore = ProcessSample.of(etcd);
    ProcessSample emptyBefore = ProcessSample.of(empty);
    pass(over);
    return new Window(
        new Watched("node", nodeBefore, ProcessSample.of(node)),
        new Watched("etcd", etcdBefore, ProcessSample.of(etcd)),
        new Watched("empty", emptyBefore, ProcessSample.of(empty)));
  }

  private static void report(Report report, Settings settings, Window soon, Window later) {
    Watched node = soon.node();
    report.section("At rest, at HOME");
    memory(report, node, soon.empty(), Aim.atMost(150, " MiB", node.before().mebibytes()));
    memory(report, soon.etcd(), soon.empty(), Aim.NONE);
    threads(report, node, soon.empty(), Aim.atMost(60, "", node.before().threads()));
    threads(report, soon.etcd(), soon.empty(), Aim.NONE);
    cores(report, "the compiler still works", soon, settings);
    cores(report, "settled", later, settings);
    report.note(
        "Memory and threads "
            + settings.settle().toSeconds()
            + " s after HOME (VmRSS), CPU over the next "
            + settings.idle().toSeconds()
            + " s and again "
            + settings.rest().toSeconds()
            + " s later, from /proc. \"empty\" is Felix + SCR with the same JVM options; \"node\" is the JVM alone, its etcd is listed beside it.");
  }

  private static void cores(Report report, String when, Window window, Settings settings) {
    Duration over = settings.idle();
    double node = window.node().cores(over);
    cores(report, when, window.node(), window.etcd(), over, Aim.atMost(1, " %", node * 100));
    cores(report, when, window.empty(), window.etcd(), over, Aim.NONE);
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
      Report report, String when, Watched process, Watched baseline, Duration over, Aim aim) {
    report.row(
        process.name() + ": CPU, " + when,
        Report.number("%.2f %% of a core", process.cores(over) * 100),
        Report.number("%s: %.2f %%", baseline.name(), baseline.cores(over) * 100),
        process.cores(over) / baseline.cores(over),
        aim);
  }

  /**
   * Lets time pass. The benchmark measures over this time, so there is no condition to await
   * instead.
   */
  static void pass(Duration time) throws InterruptedException {
    new CountDownLatch(1).await(time.toMillis(), TimeUnit.MILLISECONDS);
  }
}
