package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.node.exit.Exit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stops a node that hangs, as its operator would. */
class HungNodeTest {
  @TempDir Path folder;
  private TestDistribution distribution;
  private Path state;
  private Process child;

  @BeforeEach
  void build() throws Exception {
    distribution = new TestDistribution(folder.resolve("distribution"));
    state = folder.resolve("state");
  }

  @AfterEach
  void endChild() {
    if (child != null) {
      child.destroyForcibly();
    }
  }

  @Test
  @DisplayName("polis down ends within two minutes, with any hang, and its help says so")
  void statedTime() throws Exception {
    assertTrue(NodeStop.WITHIN.compareTo(Duration.ofMinutes(2)) < 0, NodeStop.WITHIN::toString);
    try (LauncherProcess help = new LauncherProcess(List.of(), "stop", "--help")) {
      help.exit();
      assertTrue(
          String.join(" ", help.seen()).contains("within two minutes"), help.seen()::toString);
    }
  }

  @Test
  @DisplayName(
      "An organ that hangs in its stop is in the crash record with its stack; the process ends, its children are stopped, and the next start reports it")
  void organHangs() throws Exception {
    try (LauncherProcess node =
        run("-Ddev.polis.kubernetes=home", "-Ddev.polis.cluster=hang", "--stop-within", "1")) {
      node.await("HOME after");
      record("etcd");
      try (LauncherProcess stop = stop()) {
        assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
        assertTrue(
            stop.seen().contains("polis: stopping etcd (process " + child.pid() + ")"),
            stop.seen()::toString);
        assertTrue(
            stop.seen().stream()
                .anyMatch(
                    line ->
                        line.contains("dev.polis.cluster failed: its stop did not end within 1 s")),
            stop.seen()::toString);
      }
      assertEquals(Exit.FAILED, node.exit());
      assertTrue(
          node.seen()
              .getLast()
              .startsWith("polis: dev.polis.cluster: its stop did not end within 1 s"),
          node.seen()::toString);
    }
    assertFalse(child.isAlive(), "the child runs on");
    assertTrue(crash().contains("dev.polis.node.organs.TestOrgan.stop"), crash());
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home", "-Dnone")) {
      node.await("the last run crashed: ");
      node.await("HOME after");
    }
  }

  @Test
  @Tag("full") // A hang is only reported after 15 s.
  @DisplayName(
      "A node whose virtual threads all compute reports it and feeds no watchdog, a second start names the time and the remedy, and a stop ends it")
  void virtualThreadsTaken() throws Exception {
    // The node can only add three carriers to one, so few threads compute beside the test.
    String one = "-Djdk.virtualThreadScheduler.parallelism=1";
    Path watchdog = Files.createFile(folder.resolve("watchdog0"));
    try (LauncherProcess node =
        run(
            "-Ddev.polis.kubernetes=hog",
            one,
            "--stop-within",
            "2",
            "--watchdog",
            watchdog.toString())) {
      node.await("HOME after");
      node.await("the node answers no calls since ");
      Instant fed = Files.getLastModifiedTime(watchdog).toInstant();
      Instant now = Instant.now();
      // The second of the two looks of that time at the earliest has reported it.
      assertTrue(fed.isBefore(now.minus(Pulse.PACE)), () -> "fed at " + fed + ", now " + now);
      try (LauncherProcess second = run("-Dnone", "-Dnone")) {
        assertEquals(Exit.RUNNING, second.exit());
        String last = second.seen().getLast();
        assertTrue(
            last.contains("process " + node.pid() + ", but the node answers no calls since "),
            last);
        assertTrue(last.contains("unresponsive.txt"), last);
        assertTrue(last.contains("Stop it with \"polis down --state " + state + "\""), last);
      }
      try (LauncherProcess stop = stop()) {
        assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
      }
      assertEquals(Exit.FAILED, node.exit());
    }
    assertTrue(crash().contains("virtual threads compute without a pause"), crash());
    assertTrue(crash().contains("TestOrgan.compute"), crash());
  }

  @Test
  @DisplayName("A stop also ends a child whose record was deleted with ephemeral/")
  void recordsDeleted() throws Exception {
    Path processes = Files.createDirectories(state.resolve("ephemeral/processes"));
    Path output = processes.resolve("etcd.log");
    child = new ProcessBuilder("sleep", "600").redirectOutput(output.toFile()).start();
    Files.delete(output);
    Files.delete(processes);
    try (LauncherProcess stop = stop()) {
      assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
      assertTrue(
          stop.seen()
              .contains(
                  "polis: stopping etcd (process %d), whose record in %s was deleted"
                      .formatted(child.pid(), processes)),
          stop.seen()::toString);
    }
    assertFalse(child.isAlive(), "the child continues");
  }

  @Test
  @DisplayName(
      "A node whose carriers all wait for a lock gets more of them, so that the owner of the lock can continue")
  void carriersPinned() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=pin", "-Dnone")) {
      node.await("PINNED");
      node.await("no virtual thread got a processor for 5 s: they have ");
      node.await("RELEASED");
      try (LauncherProcess stop = stop()) {
        assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
      }
      assertEquals(Exit.OK, node.exit());
      assertFalse(
          String.join("\n", node.seen()).contains("answers no calls"), node.seen()::toString);
    }
  }

  @Test
  @DisplayName(
      "A second start names a process that a signal holds, and a stop ends it with its children")
  void processHeld() throws Exception {
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home", "-Dnone")) {
      node.await("HOME after");
      record("etcd");
      node.signal("STOP");
      try (LauncherProcess second = run("-Dnone", "-Dnone")) {
        assertEquals(Exit.RUNNING, second.exit());
        String last = second.seen().getLast();
        assertTrue(last.contains("\"kill -CONT " + node.pid() + "\" lets it run"), last);
      }
      try (LauncherProcess stop = stop("--timeout", "1")) {
        assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
        assertEquals("polis: stopped", stop.seen().getLast());
      }
      node.exit();
    }
    assertFalse(child.isAlive(), "the child runs on");
    assertTrue(crash().contains("did not end within 1 s of being asked"), crash());
    assertTrue(
        crash().contains("\"main\" T (stopped)") || crash().contains("\"java\" T (stopped)"),
        crash());
  }

  @Test
  @DisplayName("A failed start names the children that still run, and the command that ends them")
  void childrenOfAFailedStart() throws Exception {
    Files.createDirectories(state.resolve("ephemeral/processes"));
    record("etcd");
    try (LauncherProcess node = run("-Ddev.polis.cluster=throw", "-Dnone")) {
      assertEquals(Exit.FAILED, node.exit());
      assertTrue(
          node.seen()
              .contains(
                  "etcd (process %d): runs on for the next start; \"polis down --state %s\" ends it"
                      .formatted(child.pid(), state)),
          node.seen()::toString);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @DisplayName("A node whose state directory is full or read-only is stopped with its children")
  void nothingCanBeWritten(boolean readOnly) throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        () ->
            "mounting a small disk needs root, and this is the user "
                + System.getProperty("user.name"));
    Files.createDirectories(state);
    mount("-t", "tmpfs", "-o", "mode=0700,size=16m", "tmpfs", state.toString());
    Path seen = state;
    try (LauncherProcess node = run("-Ddev.polis.kubernetes=home", "-Dnone")) {
      node.await("HOME after");
      record("etcd");
      if (readOnly) {
        // Uses the same directory through another mount, since this one cannot be made read-only.
        seen = Files.createDirectories(folder.resolve("seen"));
        mount("--bind", state.toString(), seen.toString());
        mount("-o", "remount,bind,ro", seen.toString());
      } else {
        Path filler = state.resolve("filler");
        assertThrows(IOException.class, () -> Files.write(filler, new byte[16 << 20]));
      }
      try (LauncherProcess stop =
          new LauncherProcess(List.of(), "stop", "--state", seen.toString())) {
        assertEquals(Exit.OK, stop.exit(), stop.seen()::toString);
        // An empty file can be made on a full disk.
        assertEquals(
            readOnly,
            stop.seen().stream().anyMatch(line -> line.contains("they are ended from here")),
            stop.seen()::toString);
        assertEquals("polis: stopped", stop.seen().getLast());
      }
      node.exit();
      assertFalse(child.isAlive(), "the child runs on");
    } finally {
      if (!seen.equals(state)) {
        command("umount", "-l", seen.toString());
      }
      command("umount", "-l", state.toString());
    }
  }

  private static void mount(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("mount"));
    command.addAll(List.of(arguments));
    command(command.toArray(String[]::new));
  }

  private static void command(String... command) throws Exception {
    Process process = new ProcessBuilder(command).inheritIO().start();
    assertEquals(0, process.waitFor(), () -> String.join(" ", command));
  }

  private String crash() throws IOException {
    return Files.readString(state.resolve("ephemeral/launcher/crash.txt"));
  }

  /** Starts a program, and records it as a child of the node. */
  private void record(String name) throws IOException {
    child = new ProcessBuilder("sleep", "600").start();
    String stat = Files.readString(Path.of("/proc/%d/stat".formatted(child.pid())));
    JsonObject record = new JsonObject();
    record.addProperty("name", name);
    record.addProperty("digest", "none");
    record.addProperty("token", "none of " + child.pid());
    record.addProperty("state", "STARTED");
    record.addProperty("pid", child.pid());
    // The start is the 22nd field; the second may contain spaces, and ends with a parenthesis.
    record.addProperty(
        "startTicks", Long.valueOf(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19]));
    record.addProperty(
        "bootId", Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip());
    record.addProperty("graceMillis", 5000);
    JsonArray command = new JsonArray();
    command.add("sleep");
    record.add("command", command);
    Path processes = Files.createDirectories(state.resolve("ephemeral/processes"));
    Files.writeString(processes.resolve(name + ".json"), record.toString());
  }

  private LauncherProcess stop(String... more) throws IOException {
    List<String> arguments = new ArrayList<>(List.of("stop", "--state", state.toString()));
    arguments.addAll(List.of(more));
    return new LauncherProcess(List.of(), arguments.toArray(String[]::new));
  }

  private LauncherProcess run(String first, String second, String... more) throws IOException {
    List<String> arguments = new ArrayList<>(List.of("run", "--state", state.toString()));
    arguments.addAll(List.of(more));
    return new LauncherProcess(
        List.of("-Dpolis.distribution=" + distribution.folder(), first, second),
        arguments.toArray(String[]::new));
  }
}
