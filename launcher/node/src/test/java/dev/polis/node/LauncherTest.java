package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.node.exit.Exit;
import dev.polis.plugins.manifest.ManifestEnvelope;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs the launcher as scripts do: as a process with a framework, three organs, output and an exit
 * code.
 */
class LauncherTest {
  @TempDir Path folder;
  private TestDistribution distribution;
  private Path state;

  @BeforeEach
  void build() throws Exception {
    distribution = new TestDistribution(folder.resolve("distribution"));
    state = folder.resolve("state");
  }

  @Test
  @DisplayName(
      "A node that is HOME stops on SIGTERM in reverse order, for a restart, with exit code 0")
  void homeAndRestart() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      node.await("HOME after");
      node.await("node-1 is HOME");
      awaitFile(state.resolve("ephemeral/launcher/home"));

      node.terminate();

      assertEquals(Exit.OK, node.exit());
      assertEquals(
          List.of(
              "STARTED dev.polis.storage",
              "STARTED dev.polis.cluster",
              "STARTED dev.polis.kubernetes",
              "STOPPED dev.polis.kubernetes PROCESS_RESTART",
              "STOPPED dev.polis.cluster PROCESS_RESTART",
              "STOPPED dev.polis.storage PROCESS_RESTART"),
          organLines(node));
      assertFalse(Files.exists(state.resolve("ephemeral/launcher/home")));
      assertTrue(
          node.seen().stream().noneMatch(line -> line.contains("WARNING")), node.seen()::toString);
    }
  }

  @Test
  @DisplayName("The bundle that replaces others stops before them, wherever it has started")
  void swapsEndFirst() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home", "-Ddev.polis.storage=swaps")) {
      node.await("HOME after");

      node.terminate();

      assertEquals(Exit.OK, node.exit());
      assertEquals(
          List.of(
              "STOPPED dev.polis.storage PROCESS_RESTART",
              "STOPPED dev.polis.kubernetes PROCESS_RESTART",
              "STOPPED dev.polis.cluster PROCESS_RESTART"),
          organLines(node).stream().filter(line -> line.startsWith("STOPPED")).toList());
    }
  }

  @Test
  @DisplayName("A bundle that a swap replaces before its turn in the start is left out of it")
  void replacedBeforeItsStart() throws Exception {
    try (LauncherProcess node =
        run("-Ddev.polis.cluster=home", "-Ddev.polis.storage=removes-kubernetes")) {
      node.await("HOME after");
      node.terminate();
      assertEquals(Exit.OK, node.exit(), node.seen()::toString);
    }
  }

  @Test
  @DisplayName("The end of its terminal stops a node, which notes that it was SIGHUP")
  void hangUp() throws Exception {
    Path ended = state.resolve("ephemeral/launcher/ended-by");
    List<ProcessHandle> processes;
    try (LauncherProcess node =
        LauncherProcess.inTerminal(
            List.of("-Dpolis.distribution=" + distribution.folder(), "-Ddev.polis.kubernetes=home"),
            "run",
            "--state",
            state.toString())) {
      node.await("HOME after");
      assertFalse(Files.exists(ended));
      processes = ProcessHandle.of(node.pid()).orElseThrow().descendants().toList();
    }
    awaitFile(ended);
    for (ProcessHandle process : processes) {
      process.onExit().get(1, TimeUnit.MINUTES);
    }
    assertTrue(Files.readString(ended).startsWith("SIGHUP 2"), Files.readString(ended));
  }

  @Test
  @DisplayName("A node without a terminal works on after SIGHUP, and says what it does not do")
  void hangUpDetached() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      node.await("HOME after");

      node.signal("HUP");
      node.await("SIGHUP received, which does nothing");

      node.terminate();
      assertEquals(Exit.OK, node.exit());
      assertTrue(
          node.seen()
              .contains("SIGTERM received: stopping; children and mounts stay for the next start"),
          node.seen()::toString);
      String ended = Files.readString(state.resolve("ephemeral/launcher/ended-by"));
      assertTrue(ended.startsWith("SIGTERM 2"), ended);
    }
  }

  @Test
  @DisplayName("SIGINT powers a node off")
  void interruptIsPowerOff() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      node.await("HOME after");

      node.signal("INT");

      assertEquals(Exit.OK, node.exit());
      assertTrue(
          node.seen().contains("STOPPED dev.polis.storage POWER_OFF"), node.seen()::toString);
    }
  }

  @Test
  @DisplayName("The stop command powers a running node off")
  void stopCommandPowersOff() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      node.await("HOME after");
      try (LauncherProcess stop =
          new LauncherProcess(List.of(), "stop", "--state", state.toString())) {
        assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
      }
      assertEquals(Exit.OK, node.exit());
      assertTrue(
          node.seen().contains("STOPPED dev.polis.storage POWER_OFF"), node.seen()::toString);
    }
  }

  @Test
  @DisplayName(
      "SEED-14 when enrolment fails, a fatal error report gives the reason, organs are stopped, and Kubernetes never starts")
  void seed14_enrolmentFailure() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.cluster=throw")) {
      node.await("FATAL ERROR: boot cannot continue");

      assertEquals(Exit.FAILED, node.exit());
      assertEquals("polis: boot: the ticket is too short: 3 bytes", node.seen().getLast());
      assertEquals(
          1,
          node.seen().stream().filter(line -> line.contains("the ticket is too short")).count(),
          node.seen()::toString);
      assertEquals(
          List.of(
              "STARTED dev.polis.storage",
              "STARTED dev.polis.cluster",
              "STOPPED dev.polis.storage PROCESS_RESTART"),
          organLines(node));
    }
  }

  @Test
  @DisplayName(
      "A fatal error stops the running organs in reverse order; the next start prints the crash once")
  void fatalReportIsKept() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=fatal")) {
      assertEquals(Exit.FAILED, node.exit());
      assertEquals("polis: cluster: the ticket is too short: 3 bytes", node.seen().getLast());
      assertEquals("STOPPED dev.polis.storage PROCESS_RESTART", organLines(node).getLast());
    }
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      assertTrue(
          node.await("the last run crashed")
              .contains("cluster failed: the ticket is too short: 3 bytes"));
      node.await("HOME after");
      node.terminate();
      node.exit();
    }
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      node.await("HOME after");
      assertTrue(
          node.seen().stream().noneMatch(line -> line.contains("crashed")), node.seen()::toString);
    }
  }

  @ParameterizedTest(name = "a class of the launcher is damaged: {0}")
  @CsvSource({
    "TrustAtStart, needed before the framework starts",
    "UninstalledBundles, needed when the framework has started",
    "ComponentDiagnosis, needed when the organs have started"
  })
  @DisplayName(
      "An error of a class ends the start with a crash record and one line, as exceptions do")
  void damagedClass(String name, String when) throws Exception {
    String type = "dev/polis/node/" + name;
    Path classes = folder.resolve("classes");
    Files.createDirectories(classes.resolve(type).getParent());
    Files.writeString(classes.resolve(type + ".class"), "this is no class file");
    try (LauncherProcess node = run("-Xbootclasspath/a:" + classes)) {
      assertEquals(Exit.FAILED, node.exit(), node.seen()::toString);
      endedWithOneLine(node, "polis: launcher: ", type);
      if (when.contains("organs")) {
        assertEquals("STOPPED dev.polis.storage PROCESS_RESTART", organLines(node).getLast());
      }
    }
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "NoClassDefFoundError, NoClassDefFoundError: dev/polis/lost/Type",
    "ExceptionInInitializerError, no such zone",
    "StackOverflowError, StackOverflowError"
  })
  @DisplayName("An error of an organ at its start ends the node as an exception does")
  void organsError(String error, String words) throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.cluster=" + error)) {
      assertEquals(Exit.FAILED, node.exit(), node.seen()::toString);
      endedWithOneLine(node, "polis: boot: ", words);
      assertEquals("STOPPED dev.polis.storage PROCESS_RESTART", organLines(node).getLast());
    }
  }

  private void endedWithOneLine(LauncherProcess node, String begin, String words) throws Exception {
    String last = node.seen().getLast();
    assertTrue(last.startsWith(begin) && last.contains(words), node.seen()::toString);
    assertTrue(
        node.seen().stream().noneMatch(line -> line.startsWith("\tat ")), node.seen()::toString);
    String record = Files.readString(state.resolve("ephemeral/launcher/crash.txt"));
    assertTrue(record.lines().findFirst().orElseThrow().contains(words), record);
  }

  @Test
  @DisplayName("What libraries print while a node starts is in the crash record if the start fails")
  void errorsOfAFailedStart() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.cluster=noise")) {
      assertEquals(Exit.FAILED, node.exit());
      endedWithOneLine(node, "polis: boot: ", "the ticket is too short: 3 bytes");
      assertTrue(
          node.seen().stream().noneMatch(line -> line.contains("noise")), node.seen()::toString);
      assertTrue(
          Files.readString(state.resolve("ephemeral/launcher/crash.txt"))
              .contains("noise of a library"));
    }
  }

  @Test
  @DisplayName("What libraries print while a node starts is printed when the node is HOME")
  void errorsOfAStart() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=warn")) {
      node.await("HOME after");
      node.terminate();
      assertEquals(Exit.OK, node.exit());
      assertTrue(node.seen().contains("a warning of a library"), node.seen()::toString);
    }
  }

  @Test
  @DisplayName("A boot that is given up names its wait")
  void timeoutNamesTheWait() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.cluster=wait", "--home-within", "1")) {
      assertEquals(Exit.FAILED, node.exit());
      String last = node.seen().getLast();
      assertTrue(last.startsWith("polis: boot: not home within 1 s; waited for a leader ("), last);
      assertTrue(last.endsWith("1 of 3 members answers"), last);
    }
  }

  @Test
  @DisplayName(
      "A second node on the same state directory is refused with the process id of the first")
  void secondNodeIsRefused() throws Exception {
    try (LauncherProcess first = run("-Ddev.polis.kubernetes=home")) {
      first.await("HOME after");
      try (LauncherProcess second = run("-Ddev.polis.kubernetes=home")) {
        assertEquals(Exit.RUNNING, second.exit());
        assertTrue(
            second.seen().getLast().contains("process " + first.pid()), second.seen()::toString);
      }
    }
  }

  @Test
  @DisplayName("A missing and a garbled bundle are refused by the name of the file")
  void brokenDistributionIsRefused() throws Exception {
    Path storage = distribution.bundle("storage");
    Files.writeString(storage, "garbled");
    refused(storage + ": the file of dev.polis.storage has the digest ");
    Files.delete(storage);
    refused(storage + ": the file of dev.polis.storage is missing");
  }

  @Test
  @DisplayName(
      "Bundles and manifests lost or damaged in the store are put back from the distribution, if it has them")
  void damagedStoreIsRestored() throws Exception {
    bootAndStop();
    List<Path> files;
    try (Stream<Path> all = Files.list(state.resolve("plugins/files"))) {
      files = all.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    }
    List<Path> manifests = files.stream().map(ManifestEnvelope::beside).toList();
    List<byte[]> contents = new ArrayList<>();
    for (Path manifest : manifests) {
      contents.add(Files.readAllBytes(manifest));
    }
    Files.delete(manifests.getFirst());
    Files.writeString(manifests.getLast(), "");
    assertTrue(
        bootAndStop().contains("manifests of plugins were restored from " + distribution.folder()));
    for (int each = 0; each < manifests.size(); each++) {
      assertArrayEquals(contents.get(each), Files.readAllBytes(manifests.get(each)));
    }

    Files.delete(files.getFirst());
    Files.writeString(files.getLast(), "garbled");
    List<String> seen = bootAndStop();
    assertTrue(
        seen.contains("the bundles were restored from " + distribution.folder()), seen::toString);
    seen = bootAndStop();
    assertTrue(seen.stream().noneMatch(line -> line.contains("restored")), seen::toString);

    Files.delete(files.getFirst());
    try (Stream<Path> jars = Files.list(distribution.folder().resolve("bundles"))) {
      for (Path jar : jars.toList()) {
        Files.delete(jar);
      }
    }
    refused("is missing; ");
  }

  @Test
  @DisplayName("A class path other than the build's is refused before any organ starts")
  void foreignLibraryIsRefused() throws Exception {
    Path foreign = distribution.folder().resolve("lib/other.jar");
    Files.createDirectories(foreign.getParent());
    Files.writeString(foreign, "x");

    refused(foreign + " is not of this build; remove it, or build the distribution again");
  }

  private List<String> bootAndStop() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home")) {
      node.await("HOME after");
      node.terminate();
      assertEquals(Exit.OK, node.exit());
      return node.seen();
    }
  }

  @Test
  @DisplayName("An unknown key is refused with the most similar one, before any organ starts")
  void unknownKeyIsRefused() throws Exception {
    refused(
        "--set: dev.polis.cluster has no key \"prot\"; did you mean \"port\"?",
        "--set",
        "dev.polis.cluster.prot=7");
    refused(
        "--set: dev.polis.cluster.port: 70000 is not within 1 to 65535",
        "--set",
        "dev.polis.cluster.port=70000");
    refused("--etcd: nothing is configured by \"dev.polis.consensus\"", "--etcd", "/opt/etcd");
  }

  private void refused(String words, String... arguments) throws Exception {
    try (LauncherProcess node = run(arguments)) {
      assertEquals(Exit.REFUSED, node.exit(), node.seen()::toString);
      assertTrue(node.seen().getLast().contains(words), node.seen()::toString);
      assertEquals(List.of(), organLines(node));
    }
  }

  /** Starts a node. Its JVM gets the options that begin with -D or -X, its program the others. */
  private LauncherProcess run(String... options) throws Exception {
    List<String> properties =
        new ArrayList<>(List.of("-Dpolis.distribution=" + distribution.folder()));
    List<String> arguments = new ArrayList<>(List.of("run", "--state", state.toString()));
    for (String option : options) {
      (option.matches("-[DX].*") ? properties : arguments).add(option);
    }
    return new LauncherProcess(properties, arguments.toArray(String[]::new));
  }

  private static List<String> organLines(LauncherProcess node) {
    return node.seen().stream()
        .filter(line -> line.startsWith("STARTED") || line.startsWith("STOPPED"))
        .toList();
  }

  private static void awaitFile(Path file) throws Exception {
    long deadline = System.nanoTime() + 10_000_000_000L;
    while (!Files.exists(file) || Files.size(file) == 0) {
      assertTrue(System.nanoTime() < deadline, file + " was not written within 10 s");
      Thread.onSpinWait();
    }
  }
}
