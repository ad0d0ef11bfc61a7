package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Measures a command of polisctl with its AOT cache, beside an empty JVM. */
final class CtlBenchmark {

  /** The time that an operator does not notice as a wait. */
  private static final double AIM_SECONDS = 0.25;

  private CtlBenchmark() {}

  /** Measures {@code node list} against a node that is home and has an owner. */
  static void run(Report report, Settings settings, Path folder, NodeUnderTest node)
      throws IOException, InterruptedException {
    String cache = folder.resolve("ctl.aot").toString();
    List<String> training = new ArrayList<>(settings.aotOptions());
    training.add("-XX:AOTCacheOutput=" + cache);
    Timed.run(nodeList(settings, training, node));
    List<String> command = nodeList(settings, List.of("-XX:AOTCache=" + cache), node);
    List<String> nothing = settings.java(List.of("-version"));
    List<Long> version = new ArrayList<>();
    List<Long> listed = new ArrayList<>();
    for (int round = 0; round < settings.commands(); round++) {
      version.add(Timed.run(nothing));
      listed.add(Timed.run(command));
    }
    Latencies measured = of(listed);
    Latencies base = of(version);
    report.section("Command line");
    report.row(
        "`polisctl node list`, AOT cache",
        measured.spread(),
        "`java -version`: " + Report.seconds(base.median()),
        measured.median() / base.median(),
        Aim.atMost(AIM_SECONDS, " s", measured.median() / 1e9));
    report.note("Median of " + settings.commands() + " (least to most), taken in turn.");
  }

  private static Latencies of(List<Long> nanos) {
    return Latencies.of(LongStream.of(nanos.stream().mapToLong(Long::longValue).toArray()));
  }

  private static List<String> nodeList(Settings settings, List<String> options, NodeUnderTest node)
      throws IOException {
    List<String> more = new ArrayList<>(options);
    more.addAll(settings.ctlOptions());
    more.addAll(List.of("-cp", classPath(settings), "dev.polis.ctl.Ctl"));
    more.addAll(List.of("--state", node.state().toString(), "node", "list"));
    return settings.java(more);
  }

  /** Listed jar by jar, because an AOT cache is bound to the exact class path. */
  private static String classPath(Settings settings) throws IOException {
    try (Stream<Path> jars = Files.list(settings.distribution().resolve("ctl"))) {
      return jars.map(Path::toString).sorted().collect(Collectors.joining(":"));
    }
  }
}
