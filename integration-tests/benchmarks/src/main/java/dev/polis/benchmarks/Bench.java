package dev.polis.benchmarks;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures, and prints tables in Markdown. */
@Command(
    name = "polis bench",
    description = "Measures a node, each figure beside a baseline of the same run.",
    mixinStandardHelpOptions = true)
final class Bench implements Callable<Integer> {

  /** A part that can be measured on its own. */
  enum Part {
    start,
    idle,
    polisctl,
    curator,
    watch,
    micro,
    swaps,
    kubernetes,
    cluster
  }

  @Option(names = "--quick", description = "Few samples: shows that all works, within 90 s.")
  boolean quick;

  @Option(
      names = "--markdown",
      paramLabel = "FILE",
      description = "Writes the tables into a file, too.")
  Path markdown; // null unless requested

  @Option(
      names = "--only",
      split = ",",
      paramLabel = "PART",
      description =
          "Measures only these: ${COMPLETION-CANDIDATES}. Without it all but swaps, which fetches Apache Karaf, kubernetes, which needs root, and cluster, which takes minutes.")
  Set<Part> only = EnumSet.complementOf(EnumSet.of(Part.swaps, Part.kubernetes, Part.cluster));

  @Option(
      names = "--losses",
      paramLabel = "N",
      description =
          "How many times the part cluster kills the leader; default 5, and 1 with --quick.")
  Integer losses; // null: the default

  @Option(
      names = "--baseline",
      paramLabel = "DIR",
      description =
          "A folder with shell scripts that run the same programs of Kubernetes, beside which it is measured.")
  Path baseline; // null: the figures stand alone

  /** Parts that start nodes of their own. */
  private static final Set<Part> BY_THEMSELVES =
      EnumSet.of(Part.micro, Part.swaps, Part.kubernetes, Part.cluster);

  @Spec private CommandSpec spec;

  /** Runs the command. */
  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Bench()).execute(arguments));
  }

  @Override
  public Integer call() throws Exception {
    if (losses != null && losses < 1) {
      throw new ParameterException(
          spec.commandLine(), "--losses %d: give 1 or more".formatted(losses));
    }
    Settings settings = Settings.read(quick, Optional.ofNullable(losses));
    String loadBefore = Machine.load();
    Report report = new Report();
    Path folder = Files.createTempDirectory(settings.work(), "bench");
    try {
      if (!BY_THEMSELVES.containsAll(only)) {
        node(report, settings, folder);
      }
      if (only.contains(Part.micro)) {
        progress("supervision and log tree");
        MicroBenchmark.run(report, settings);
      }
      if (only.contains(Part.swaps)) {
        SwapBenchmark.run(report, settings, folder);
      }
      if (only.contains(Part.kubernetes)) {
        KubernetesBenchmark.run(report, settings, folder, Optional.ofNullable(baseline));
      }
      if (only.contains(Part.cluster)) {
        ClusterBenchmark.run(report, settings);
      }
    } finally {
      NodeUnderTest.delete(folder);
    }
    String text = report.markdown(Machine.facts(loadBefore, quick ? "quick run" : "full run"));
    System.out.println(text);
    if (markdown != null) {
      Report.write(markdown, text);
    }
    return CommandLine.ExitCode.OK;
  }

  private void node(Report report, Settings settings, Path folder) throws Exception {
    StartBenchmark starts = new StartBenchmark(settings, folder);
    progress("training the AOT caches");
    starts.train();
    try (NodeUnderTest node = NodeUnderTest.fresh(settings)) {
      if (only.contains(Part.start)) {
        progress("starts");
        starts.run(report, node);
      } else {
        node.up(starts.nodeOption());
      }
      if (only.contains(Part.idle)) {
        progress("at rest");
        IdleBenchmark.run(report, settings, starts, node);
      }
      if (only.contains(Part.curator)
          || only.contains(Part.watch)
          || only.contains(Part.polisctl)) {
        node.ctl("--state", node.state().toString(), "takeownership");
      }
      if (only.contains(Part.polisctl)) {
        progress("polisctl");
        CtlBenchmark.run(report, settings, folder, node);
      }
      if (only.contains(Part.watch)) {
        progress("watching");
        WatchBenchmark.run(report, settings, node);
      }
      if (only.contains(Part.curator)) {
        progress("curator");
        CuratorBenchmark.run(report, settings, node);
      }
    }
  }

  static void progress(String what) {
    System.err.println("measuring: " + what);
  }
}
