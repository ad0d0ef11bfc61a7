package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.LastLines;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.NodeProcesses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts, interrupts, damages and stops a cluster of three nodes with the operator's script. */
@Tag("full")
class LocalClusterIT {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** The script gives each step two minutes. */
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  /** A report of tests shows as many. */
  private static final int SHOWN_LINES = 12;

  /** The beginning of the addresses of nodes that share the machine's network. */
  private static final String SHARED = "127.0.73.";

  private static final String FIRST = SHARED + "1";

  /** The beginning of the addresses of nodes with networks of their own. */
  private static final String OWN = "10.83.85.";

  private static final Duration PROMISED = Duration.ofMinutes(1);

  /** The page "measurements" promises a learner its vote within this time. */
  private static final Duration VOTE = Duration.ofSeconds(2);

  /** etcd writes this once its member has applied its own publication, behind all older entries. */
  private static final String CAUGHT_UP = "ready to serve client requests";

  private static final String PROMOTED = "\"promote member\"";

  @TempDir Path directory;
  private Path base;

  private List<String> polis(String... words) {
    base = directory.resolve("cluster");
    List<String> command = new ArrayList<>(List.of(REPOSITORY.resolve("polis").toString()));
    command.addAll(List.of(words));
    command.addAll(List.of("--state", base.toString()));
    return command;
  }

  private Map<String, String> environment() throws Exception {
    return Map.of(
        "POLIS_BUILD", "no",
        "POLIS_TRAIN", "no",
        "POLIS_ETCD", EtcdBinary.folder().toString(),
        "JAVA_HOME", System.getProperty("java.home"),
        "XDG_CONFIG_HOME", directory.toString());
  }

  private Finished run(String... words) throws Exception {
    return Finished.of(polis(words), environment(), PATIENCE);
  }

  @AfterEach
  void stop() throws Exception {
    run("down", "--anyway").requireSuccess("the nodes of the test are not stopped");
  }

  @Test
  @DisplayName(
      "up --nodes 3 finishes what an interrupted call has left, brings a lost node back, and down ends all three")
  void life() throws Exception {
    interrupted();
    Finished up = run("up", "--nodes", "3", "--security", "insecure");
    up.requireSuccess("up --nodes 3");
    for (int number = 1; number <= 3; number++) {
      assertTrue(
          up.err().contains("✓ node %d is HOME at 127.0.73.%d ".formatted(number, number)),
          up::all);
    }
    assertTrue(up.err().contains("HOME after "), up::all);
    healthIsOneScreen(SHARED);

    killTheFirst();
    Await.until(
        TestNode.PATIENCE,
        "another node to lead and to miss the first one",
        () -> health().out().contains("voters up: 2 of 3; 2 must be up"),
        () -> health().all());
    Finished hurt = health();
    assertEquals(5, hurt.code(), hurt::all);
    assertTrue(
        hurt.out().matches("(?s).*leader: metropolis-\\S+ at 127\\.0\\.73\\.[23]\n.*"), hurt::all);

    Finished again = run("up", "--nodes", "3");
    if (again.code() != 0) {
      throw new AssertionError(
          "up --nodes 3 after the loss of a node: " + again.all(), endOfTheFirstLog());
    }
    healthIsOneScreen(SHARED);

    run("down").requireSuccess("down");
    assertEquals(List.of(), TestNode.bare(base, FIRST).leftovers());
  }

  @Test
  @Tag("alone")
  @DisplayName(
      "up --nodes 3 --netns makes three members within a minute, each with a network of its own; one that is cut off is missed until it is back, and down leaves no network")
  void networksOfTheirOwn() throws Exception {
    Needs.root("a network for each node");
    MachineSpeed speed = MachineSpeed.measure();
    long begun = System.nanoTime();
    Finished up =
        run("up", "--nodes", "3", "--security", "insecure", "--netns", "--address", OWN + "1");
    Duration took = Duration.ofNanos(System.nanoTime() - begun);
    up.requireSuccess("up --nodes 3 --netns");
    speed.assertWithin("three nodes became members", PROMISED, took);
    System.out.printf("up --nodes 3 --netns: %d ms%n", took.toMillis());
    for (int number = 2; number <= 3; number++) {
      Duration promoted = promotion(number);
      speed.assertWithin("a learner had caught up and got its vote", VOTE, promoted);
      System.out.printf("a learner was promoted %d ms after it served%n", promoted.toMillis());
    }
    healthIsOneScreen(OWN);

    String name = Files.readString(base.resolve("netns")).strip();
    network("-netns", name + "-3", "link", "set", "eth0", "down").requireSuccess("cut off");
    Await.until(
        TestNode.PATIENCE,
        "the others to miss the third node",
        () -> health(OWN).out().contains("voters up: 2 of 3; 2 must be up"),
        () -> health(OWN).all());
    network("-netns", name + "-3", "link", "set", "eth0", "up").requireSuccess("connected");
    Await.until(
        TestNode.PATIENCE,
        "the third node to be back",
        () -> health(OWN).code() == 0,
        () -> health(OWN).all());

    run("down").requireSuccess("down");
    assertEquals(List.of(), TestNode.bare(base, OWN + "1").leftovers());
    for (String link : List.of(name, name + "-1", name + "-2", name + "-3")) {
      Finished show = network("link", "show", link);
      assertEquals(1, show.code(), show::all);
    }
  }

  /**
   * Returns the time from the moment at which a learner had caught up to its promotion, which may
   * come first.
   */
  private Duration promotion(int number) throws IOException {
    EtcdLog log = EtcdLog.of(TestNode.bare(base.resolve(Integer.toString(number)), OWN + number));
    Instant joined = log.ownMember();
    Instant caughtUp = log.times(CAUGHT_UP).findFirst().orElseThrow();
    Instant promoted = log.firstAfter(joined, PROMOTED).orElseThrow();
    return promoted.isBefore(caughtUp) ? Duration.ZERO : Duration.between(caughtUp, promoted);
  }

  private static Finished network(String... words) throws Exception {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(words));
    return Finished.of(command, Map.of(), PATIENCE);
  }

  /** Interrupts the first call, as Ctrl-C does, as soon as the first node is there. */
  private void interrupted() throws Exception {
    Path output = directory.resolve("interrupted.txt");
    // The signal goes to the process group, as from a terminal.
    List<String> command = new ArrayList<>(List.of("setsid", "env", "--default-signal=INT"));
    command.addAll(polis("up", "--nodes", "3", "--security", "insecure", "--address", FIRST));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().putAll(environment());
    Process up = builder.start();
    Await.until(
        PATIENCE,
        "the first node to be HOME",
        () -> Files.readString(output).contains("✓ node 1 is HOME at " + FIRST),
        () -> Files.readString(output));
    Finished.of(List.of("kill", "-INT", "--", "-" + up.pid()), Map.of(), PATIENCE)
        .requireSuccess("no interruption");
    assertTrue(up.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS), "it did not end");
    String said = Files.readString(output);
    assertEquals(130, up.exitValue(), said);
    assertTrue(said.contains("polis: interrupted"), said);
    assertTrue(said.contains("up --nodes 3 --state %s finishes the rest".formatted(base)), said);
    assertTrue(said.contains("down --state %s ends all nodes".formatted(base)), said);
  }

  /** Kills a node and its etcd, as a loss of its machine does. */
  private void killTheFirst() throws Exception {
    Path first = base.resolve("1");
    long node = Long.parseLong(Files.readString(first.resolve("node.lock")).strip());
    ProcessHandle.of(node).orElseThrow().destroyForcibly();
    new NodeProcesses(first).of("etcd").forEach(ProcessHandle::destroyForcibly);
  }

  private AssertionError endOfTheFirstLog() throws IOException {
    String log = Files.readString(base.resolve("1/node.log"));
    return new AssertionError(LastLines.of(log, SHOWN_LINES));
  }

  private Finished health() {
    return health(SHARED);
  }

  private Finished health(String network) {
    return TestNode.bare(base, network + "1").ctl("health");
  }

  private void healthIsOneScreen(String network) throws Exception {
    Finished health = health(network);
    health.requireSuccess("health of three nodes");
    List<String> lines = health.out().lines().toList();
    for (int number = 1; number <= 3; number++) {
      String address = network + number;
      assertEquals(
          1,
          lines.subList(1, 4).stream().filter(line -> line.contains(" " + address + " ")).count(),
          health::all);
    }
    assertEquals("voters up: 3 of 3; 2 must be up", lines.get(5), health::all);
    assertTrue(lines.get(6).startsWith("leader: metropolis-"), health::all);
    // Eight at most, and a cause with its remedy for each node.
    assertTrue(lines.size() <= 8 + 3 * 2, health::all);
  }
}
