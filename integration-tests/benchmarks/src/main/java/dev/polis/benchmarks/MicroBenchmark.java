package dev.polis.benchmarks;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the JMH benchmarks in JVMs that get a node's options. */
final class MicroBenchmark {

  private static final int SHOTS = 10;

  private final Settings settings;
  private final Map<String, RunResult> results = new TreeMap<>();

  private MicroBenchmark(Settings settings) {
    this.settings = settings;
  }

  static void run(Report report, Settings settings) throws RunnerException {
    MicroBenchmark micro = new MicroBenchmark(settings);
    micro.measure(LogAppend.class, LogTail.class, SupervisionRestart.class);
    micro.shoot(SupervisionSpawn.class);
    report.section("Supervision");
    micro.spawn(report);
    micro.restart(report);
    report.section("Log tree");
    micro.append(
        report, "leveledPlaced", "javaUtilLogging", "leveled lines (formatted, with their place)");
    micro.append(
        report, "leveled", "javaUtilLogging", "leveled lines of code that was not rewritten");
    micro.append(
        report, "leveledHere", "javaUtilLogging", "leveled lines (formatted, one place for all)");
    micro.append(report, "rawLine", "javaUtilLoggingLine", "raw lines");
    micro.tail(report, "oneDn", "newest 100 of one DN of 1,000");
    micro.tail(report, "subtree", "newest 100 of a subtree of 1,000 DNs");
    report.note(
        "JMH, one thread, JVM options of a node (C1 only). Lines per second and core are taken from the CPU time of the whole JVM, collector included. java.util.logging neither formats a line nor determines its place until a reader asks. The build of a distribution inserts places into the code; code without them walks the stack. One place for all is that of `Log.here()`.");
  }

  /** A node's options disable a feature that JMH needs. */
  private String[] jvm() {
    return settings.jvm().stream()
        .map(option -> option.replace("memory-access=deny", "memory-access=allow"))
        .toArray(String[]::new);
  }

  private ChainedOptionsBuilder options(Class<?>... classes) {
    ChainedOptionsBuilder options =
        new OptionsBuilder()
            .forks(1)
            .threads(1)
            .jvmArgs(jvm())
            .addProfiler(CpuProfiler.class)
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT);
    for (Class<?> type : classes) {
      options.include(type.getName() + "\\.");
    }
    return options;
  }

  private void measure(Class<?>... classes) throws RunnerException {
    int iterations = settings.quick() ? 1 : 3;
    TimeValue time = TimeValue.milliseconds(settings.quick() ? 500 : 1000);
    run(
        options(classes)
            .warmupIterations(settings.quick() ? 1 : 2)
            .warmupTime(time)
            .measurementIterations(iterations)
            .measurementTime(time));
  }

  private void shoot(Class<?> type) throws RunnerException {
    int shots = settings.quick() ? 3 : SHOTS;
    run(options(type).warmupIterations(shots / 2).measurementIterations(shots));
  }

  private void run(ChainedOptionsBuilder options) throws RunnerException {
    for (RunResult result : new Runner(options.build()).run()) {
      String name = result.getParams().getBenchmark();
      String[] parts = name.split("\\.");
      String key = String.join(".", Arrays.copyOfRange(parts, parts.length - 2, parts.length));
      String parameters =
          result.getParams().getParamsKeys().stream()
              .map(result.getParams()::getParam)
              .collect(Collectors.joining());
      results.put(key + parameters, result);
    }
  }

  private Result<?> primary(String key) {
    return result(key).getPrimaryResult();
  }

  private RunResult result(String key) {
    RunResult result = results.get(key);
    if (result == null) {
      throw new IllegalStateException(key + " was not run; there are " + results.keySet());
    }
    return result;
  }

  private void spawn(Report report) {
    double supervised = primary("SupervisionSpawn.runnables").getStatistics().getPercentile(50);
    double bare = primary("SupervisionSpawn.virtualThreads").getStatistics().getPercentile(50);
    report.row(
        "10,000 runnables until all are HEALTHY",
        Report.millis(supervised),
        "10,000 virtual threads: " + Report.millis(bare),
        supervised / bare,
        Aim.NONE);
  }

  private void restart(Report report) {
    for (int percent : List.of(50, 99)) {
      double supervised =
          primary("SupervisionRestart.supervised").getStatistics().getPercentile(percent);
      double bare =
          primary("SupervisionRestart.virtualThread").getStatistics().getPercentile(percent);
      report.row(
          "failure to first restart, p" + percent,
          Report.number("%.3f ms", supervised / 1e6),
          Report.number("two virtual threads: %.3f ms", bare / 1e6),
          supervised / bare,
          Aim.atMost(5, " ms", supervised / 1e6));
    }
  }

  private double linesPerCore(String method) {
    return 1e9
        / result("LogAppend." + method).getSecondaryResults().get(CpuProfiler.NANOS).getScore();
  }

  private void append(Report report, String method, String baseline, String what) {
    double lines = linesPerCore(method);
    double base = linesPerCore(baseline);
    report.row(
        "append, " + what,
        Report.number("%,.0f/s per core", lines),
        Report.number("java.util.logging: %,.0f/s", base),
        lines / base,
        // A node does not run code that determines its place at run time.
        method.equals("leveled") ? Aim.NONE : Aim.atLeast(1_000_000, "/s", lines));
  }

  private void tail(Report report, String method, String what) {
    double many = primary("LogTail." + method + "1000").getStatistics().getPercentile(50);
    double one = primary("LogTail." + method + "1").getStatistics().getPercentile(50);
    double worst = primary("LogTail." + method + "1000").getStatistics().getPercentile(99);
    report.row(
        what + ", p50 (p99)",
        Report.number("%.3f ms (%.3f ms)", many / 1e6, worst / 1e6),
        Report.number("the only DN: %.3f ms", one / 1e6),
        many / one,
        Aim.atMost(1, " ms", worst / 1e6));
  }
}
