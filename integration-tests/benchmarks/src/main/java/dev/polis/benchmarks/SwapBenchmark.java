package dev.polis.benchmarks;

import dev.polis.benchmarks.CallerPort.Seen;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * Replaces one bundle under the same load in a node of ours, in a bare Felix and in Apache Karaf,
 * in turn.
 */
final class SwapBenchmark {
  private static final Duration END = Duration.ofSeconds(60);

  private final Settings settings;
  private final Path folder;
  private final SwapBundles bundles;

  private SwapBenchmark(Settings settings, Path folder, SwapBundles bundles) {
    this.settings = settings;
    this.folder = folder;
    this.bundles = bundles;
  }

  static void run(Report report, Settings settings, Path folder)
      throws IOException, InterruptedException {
    Path own = Files.createDirectories(folder.resolve("swaps"));
    SwapBenchmark benchmark =
        new SwapBenchmark(settings, own, SwapBundles.compiled(own, settings.sources()));
    report.section("One bundle is replaced under load");
    report.note(
        "%d replacements of the same bundle in each container, after three that are not counted. Four threads look its service up, call it and release it; the gap is the longest time without an answer, median and p99. The baseline is the gap in an equally long time before each replacement. The processes that give the order, polisctl and Karaf's client, share the cores with the measured node; the bare Felix gets its order as a line on standard input."
            .formatted(settings.swaps()));
    benchmark.measure(report, "our node, `polisctl plugin swap`", benchmark.node());
    benchmark.measure(report, "bare Felix, stop, update, start, refresh", benchmark.felix());
    Optional<Container> karaf = benchmark.karaf();
    if (karaf.isPresent()) {
      benchmark.measure(report, "Apache Karaf, `bundle:update`", karaf.get());
    } else {
      report.note(
          "Apache Karaf was not measured: it needs a Java of release 17 or 21, named by KARAF_JAVA_HOME.");
    }
  }

  private void measure(Report report, String what, Container container)
      throws IOException, InterruptedException {
    System.err.println("measuring: " + what);
    List<Seen> replaced = new ArrayList<>();
    List<Seen> quiet = new ArrayList<>();
    try (container;
        CallerPort caller = CallerPort.open(container.port())) {
      caller.awaitVersion("1.0.1");
      Duration took = settings.betweenSwaps();
      for (int round = 0; round < settings.swapsBefore() + settings.swaps(); round++) {
        int version = 2 + round;
        Path jar = bundles.greeter(version);
        container.prepare(jar);
        caller.next();
        // As long as the previous replacement, so that as many chance pauses fall into it.
        IdleBenchmark.pass(took);
        Seen before = caller.next();
        long began = System.nanoTime();
        container.replace(jar);
        Seen seen = caller.awaitVersion("1.0." + version);
        IdleBenchmark.pass(settings.betweenSwaps());
        seen = seen.and(caller.next());
        took = Duration.ofNanos(System.nanoTime() - began);
        if (round >= settings.swapsBefore()) {
          quiet.add(before);
          replaced.add(seen);
        }
      }
    }
    row(report, what, replaced, quiet);
  }

  private static void row(Report report, String what, List<Seen> replaced, List<Seen> quiet) {
    Latencies gap = Latencies.of(replaced.stream().mapToLong(Seen::gap));
    Latencies before = Latencies.of(quiet.stream().mapToLong(Seen::gap));
    report.row(
        what,
        Report.number(
            "gap %s, p99 %s; failed calls %,d of %,d; users left without the service %d; other bundles stopped %d, wired anew %d",
            Report.millis(gap.median()),
            Report.millis(gap.p99()),
            replaced.stream().mapToLong(Seen::failed).sum(),
            replaced.stream().mapToLong(seen -> seen.answered() + seen.failed()).sum(),
            replaced.stream().mapToInt(Seen::lost).sum(),
            replaced.stream().mapToInt(Seen::stopped).sum(),
            replaced.stream().mapToInt(Seen::wiredAnew).sum()),
        "without: %s, p99 %s"
            .formatted(Report.millis(before.median()), Report.millis(before.p99())),
        gap.median() / before.median(),
        Aim.NONE);
  }

  private Container node() throws IOException, InterruptedException {
    int port = CallerPort.free();
    NodeUnderTest node = NodeUnderTest.fresh(settings);
    Path key = folder.resolve("swaps.key");
    node.up("-Dpolis.bench.port=" + port);
    List<String> state = List.of("--state", node.state().toString());
    ctl(node, state, "takeownership");
    ctl(node, state, "plugin", "key", "make", key.toString());
    ctl(node, state, "plugin", "trust", "add", "benchmark", key + ".pub");
    Container container =
        new Container() {
          @Override
          public int port() {
            return port;
          }

          @Override
          public void prepare(Path jar) throws IOException, InterruptedException {
            pack(node, state, jar, "greeter", key);
          }

          @Override
          public void replace(Path jar) throws IOException, InterruptedException {
            ctl(node, state, "plugin", "swap", jar.toString());
          }

          @Override
          public void close() throws IOException {
            node.close();
          }
        };
    Path greeter = bundles.greeter(1);
    container.prepare(greeter);
    container.replace(greeter);
    Path caller = bundles.caller();
    pack(node, state, caller, "caller", key);
    ctl(node, state, "plugin", "swap", caller.toString());
    return container;
  }

  private static void pack(NodeUnderTest node, List<String> state, Path jar, String organ, Path key)
      throws IOException, InterruptedException {
    ctl(node, state, "plugin", "pack", jar.toString(), "--key", key.toString(), "--organ", organ);
  }

  private static void ctl(NodeUnderTest node, List<String> state, String... words)
      throws IOException, InterruptedException {
    node.ctl(Stream.concat(state.stream(), Stream.of(words)).toArray(String[]::new));
  }

  private Container felix() throws IOException {
    int port = CallerPort.free();
    List<String> options = new ArrayList<>(List.of("-Dpolis.bench.port=" + port, "-cp"));
    options.add(System.getProperty("java.class.path"));
    options.add(FelixUnderTest.class.getName());
    options.add(folder.resolve("felix").toString());
    options.add(bundles.greeter(1).toString());
    options.add(bundles.caller().toString());
    Process process = started(settings.java(options), Map.of(), "felix.log");
    return new Felix(process, process.outputWriter(), port);
  }

  /** Returns a running Karaf; empty if there is no Java for it. */
  private Optional<Container> karaf() throws IOException, InterruptedException {
    if (settings.karaf().isEmpty()) {
      return Optional.empty();
    }
    Path home = folder.resolve("karaf");
    copy(Path.of(settings.karaf()), home);
    // Its client logs in as this user, whose line is commented out in the release.
    Files.writeString(
        home.resolve("etc/users.properties"),
        "karaf = karaf,admin,manager,viewer,systembundles,ssh\n");
    int port = CallerPort.free();
    Map<String, String> environment =
        Map.of("JAVA_HOME", settings.karafJava(), "EXTRA_JAVA_OPTS", "-Dpolis.bench.port=" + port);
    Process process =
        started(List.of(home.resolve("bin/karaf").toString(), "server"), environment, "karaf.log");
    Karaf karaf = new Karaf(process, port, home, environment);
    karaf.say("bundle:install -s " + bundles.greeter(1).toUri());
    karaf.say("bundle:install -s " + bundles.caller().toUri());
    return Optional.of(karaf);
  }

  private Process started(List<String> command, Map<String, String> environment, String log)
      throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(log).toFile());
    builder.environment().putAll(environment);
    return builder.start();
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path file : all.sorted(Comparator.naturalOrder()).toList()) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }

  /** Runs a bare Felix, which reads its orders from standard input. */
  private record Felix(Process process, BufferedWriter input, int port) implements Container {
    @Override
    public void replace(Path jar) throws IOException {
      input.write(jar.toString());
      input.newLine();
      input.flush();
    }

    @Override
    public void close() throws IOException {
      input.close();
      end(process);
    }
  }

  /** Runs a Karaf, which gets its orders from its own client. */
  private record Karaf(Process process, int port, Path home, Map<String, String> environment)
      implements Container {
    /** The time in which its console answers on a busy machine. */
    private static final String ATTEMPTS = "90";

    void say(String line) throws IOException, InterruptedException {
      List<String> command =
          List.of(home.resolve("bin/client").toString(), "-r", ATTEMPTS, "-d", "1", line);
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.appendTo(log()));
      builder.environment().put("JAVA_HOME", environment.get("JAVA_HOME"));
      if (builder.start().waitFor() != 0) {
        throw new IOException(line + " failed: " + Files.readString(log().toPath()));
      }
    }

    private File log() {
      return home.resolve("client.log").toFile();
    }

    @Override
    public void replace(Path jar) throws IOException, InterruptedException {
      say("bundle:update org.example.greeter " + jar.toUri());
    }

    @Override
    public void close() {
      end(process);
    }
  }

  /** Ends a process and its children, such as the Java of a script. */
  private static void end(Process process) {
    List<ProcessHandle> all =
        Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
    all.forEach(ProcessHandle::destroy);
    for (ProcessHandle each : all) {
      try {
        each.onExit().get(END.toSeconds(), TimeUnit.SECONDS);
      } catch (ExecutionException | TimeoutException e) {
        each.destroyForcibly();
      } catch (InterruptedException e) {
        each.destroyForcibly();
        Thread.currentThread().interrupt();
      }
    }
  }
}
