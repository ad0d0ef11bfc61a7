package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Measures the time from the start of the process to HOME, beside simpler processes. */
final class StartBenchmark {

  private static final String SYSTEM_PACKAGES =
      "org.osgi.service.cm;version=1.6.1,org.osgi.service.component;version=1.5.1,"
          + "org.osgi.service.component.propertytypes;version=1.5,org.osgi.service.component.runtime;version=1.5,"
          + "org.osgi.service.component.runtime.dto;version=1.5,org.osgi.util.promise;version=1.3.0,org.osgi.util.function;version=1.2.0";

  private final Settings settings;
  private final Path folder;
  private final Path nodeCache;
  private final Path emptyCache;

  StartBenchmark(Settings settings, Path folder) {
    this.settings = settings;
    this.folder = folder;
    this.nodeCache = folder.resolve("node.aot");
    this.emptyCache = folder.resolve("empty.aot");
  }

  String nodeOption() {
    return "-XX:AOTCache=" + nodeCache;
  }

  private String emptyOption() {
    return "-XX:AOTCache=" + emptyCache;
  }

  /** Writes the AOT caches, as ./polis up does after its first start: from a restart. */
  void train() throws IOException, InterruptedException {
    Timed.run(empty("-XX:AOTCacheOutput=" + emptyCache, "-Donce=true"));
    try (NodeUnderTest node = NodeUnderTest.fresh(settings)) {
      node.up();
      node.terminate();
      node.train(nodeCache);
    }
  }

  /** Measures; the node given is started often, and left running with the AOT cache. */
  void run(Report report, NodeUnderTest node) throws IOException, InterruptedException {
    List<Long> version = new ArrayList<>();
    List<Long> empty = new ArrayList<>();
    List<Long> emptyWarm = new ArrayList<>();
    List<Long> cold = new ArrayList<>();
    List<Long> restarted = new ArrayList<>();
    List<Long> adopted = new ArrayList<>();
    List<String> coldWaits = List.of();
    List<String> adoptedWaits = List.of();
    node.up();
    for (int round = 0; round < settings.starts(); round++) {
      node.down();
      version.add(Timed.run(settings.java(List.of("-version"))));
      empty.add(ready(empty("-Donce=false")));
      emptyWarm.add(ready(empty(emptyOption())));
      try (NodeUnderTest first = NodeUnderTest.fresh(settings)) {
        cold.add(first.up());
        coldWaits = first.waits();
      }
      restarted.add(node.up(nodeOption()));
      node.terminate();
      adopted.add(node.up(nodeOption()));
      adoptedWaits = node.waits();
    }
    report.section("From start to HOME");
    row(report, "`java -version`", version, "the same", version, Aim.NONE);
    row(report, "empty Felix + SCR, no AOT cache", empty, "`java -version`", version, Aim.NONE);
    row(
        report,
        "first boot: new state, cluster made, no AOT cache",
        cold,
        "empty Felix + SCR",
        empty,
        Aim.NONE);
    row(report, "empty Felix + SCR, AOT cache", emptyWarm, "`java -version`", version, Aim.NONE);
    row(
        report,
        "restart, AOT cache, etcd started too",
        restarted,
        "empty Felix + SCR, AOT cache",
        emptyWarm,
        warm(restarted));
    row(
        report,
        "restart, AOT cache, etcd adopted",
        adopted,
        "empty Felix + SCR, AOT cache",
        emptyWarm,
        warm(adopted));
    report.note(
        "Median of "
            + settings.starts()
            + " (least to most), rounds taken in turn, all with a node's JVM options. Waits of the last first boot: "
            + String.join("; ", coldWaits)
            + ". Of the last restart: "
            + (adoptedWaits.isEmpty() ? "none worth a line" : String.join("; ", adoptedWaits))
            + ".");
  }

  private static Aim warm(List<Long> nanos) {
    return Aim.atMost(1.2, " s", of(nanos).median() / 1e9);
  }

  private static Latencies of(List<Long> nanos) {
    return Latencies.of(LongStream.of(nanos.stream().mapToLong(Long::longValue).toArray()));
  }

  private static void row(
      Report report, String what, List<Long> nanos, String than, List<Long> baseline, Aim aim) {
    Latencies measured = of(nanos);
    Latencies base = of(baseline);
    report.row(
        what,
        measured.spread(),
        than + ": " + Report.seconds(base.median()),
        measured.median() / base.median(),
        aim);
  }

  private long ready(List<String> command) throws IOException, InterruptedException {
    try (Timed empty = Timed.start(command, "READY")) {
      return empty.await();
    }
  }

  /** Returns Felix + SCR, left running. */
  Timed startEmpty() throws IOException {
    return Timed.start(empty(emptyOption()), "READY");
  }

  private List<String> empty(String... options) throws IOException {
    Path lib = settings.distribution().resolve("lib");
    List<String> more = new ArrayList<>(List.of(options));
    more.add("-Dsystem.packages=" + SYSTEM_PACKAGES);
    more.add("-cp");
    // No folders: an AOT cache takes archives only.
    more.add(classes() + ":" + String.join(":", jars(lib)));
    more.add("dev.polis.benchmarks.EmptyFramework");
    more.add(folder.resolve("framework").toString());
    Path bundles = settings.distribution().resolve("bundles");
    more.add(bundle(bundles, "org.apache.felix.configadmin-"));
    more.add(bundle(bundles, "org.apache.felix.scr-"));
    return settings.java(more);
  }

  private static String classes() {
    return Path.of(System.getProperty("polis.benchmarks")).toAbsolutePath().toString();
  }

  private static List<String> jars(Path lib) throws IOException {
    try (Stream<Path> files = Files.list(lib)) {
      return files.map(Path::toString).filter(name -> name.contains("org.")).sorted().toList();
    }
  }

  private static String bundle(Path bundles, String start) throws IOException {
    try (Stream<Path> files = Files.list(bundles)) {
      return files
          .filter(file -> file.getFileName().toString().startsWith(start))
          .findFirst()
          .orElseThrow(() -> new IOException("no bundle " + start + "* in the distribution"))
          .toString();
    }
  }
}
