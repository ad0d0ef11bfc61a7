package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogTree;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProcessesTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path directory;
  private final LogTree logs = LogTree.create();
  private final Children children = new Children();

  @AfterEach
  void nothingStays() throws Exception {
    children.killAll();
  }

  private ProcessManager.OpenManager open() {
    return ProcessManager.open(directory, logs);
  }

  private ProcessSpec sleeper() {
    return children.shell("child", "exec sleep 1000");
  }

  private static ProcessStatus end(ManagedProcess process) throws Exception {
    try (Watcher<ProcessStatus> watcher = process.status().watch()) {
      return watcher.get(status -> !(status instanceof ProcessStatus.Running), PATIENCE);
    }
  }

  @Test
  @DisplayName("the record of a live process that was deleted is written again, and no other")
  void restoresRecords() throws Exception {
    Path records = directory.resolve("processes");
    try (var manager = ProcessManager.open(records, logs)) {
      ManagedProcess child = manager.ensure(sleeper());
      assertEquals(List.of(), manager.restoreRecords());
      List<ProcessRecord> before = manager.records();
      try (Stream<Path> files = Files.list(records)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(records);

      assertEquals(List.of("child"), manager.restoreRecords());

      assertEquals(before, manager.records());
      manager.stop("child");
      assertFalse(Proc.stat(child.pid()).filter(stat -> !stat.dead()).isPresent());
      assertEquals(List.of(), manager.restoreRecords());
      assertEquals(List.of(), manager.records());
    }
  }

  @Test
  @DisplayName("a directory of records that was renamed with the one above is not made again")
  void renamedRecords() throws Exception {
    Path above = Files.createDirectory(directory.resolve("ephemeral"));
    try (var manager = ProcessManager.open(above.resolve("processes"), logs)) {
      manager.ensure(sleeper());
      Path away = Files.move(above, directory.resolve("away"));
      assertEquals(List.of(), manager.restoreRecords());
      Files.move(away, above);
      assertEquals(1, manager.records().size());
    }
  }

  @Test
  @DisplayName("a running process is adopted by the next manager with its pid")
  void adopts() throws Exception {
    long pid;
    try (var first = open()) {
      ManagedProcess started = first.ensure(sleeper());
      assertFalse(started.adopted());
      pid = started.pid();
    }

    try (var second = open()) {
      ManagedProcess adopted = second.ensure(sleeper());

      assertEquals(pid, adopted.pid());
      assertTrue(adopted.adopted());
      assertTrue(adopted.running());
      assertEquals(List.of(pid), children.alive());
    }
  }

  @Test
  @DisplayName(
      "a copy of a directory neither adopts nor ends the processes of the original, and a renamed one does")
  void copiedRecords() throws Exception {
    Path original = directory.resolve("original");
    Path copy = Files.createDirectory(directory.resolve("copy"));
    long pid;
    try (var first = ProcessManager.open(original, logs)) {
      pid = first.ensure(sleeper()).pid();
    }
    for (String file : List.of("child.json", "child.log")) {
      Files.copy(original.resolve(file), copy.resolve(file));
    }

    assertEquals(List.of(), ProcessRecords.stopAll(copy));
    try (var second = ProcessManager.open(copy, logs)) {
      assertFalse(second.lives("child"));
      assertNotEquals(pid, second.ensure(sleeper()).pid());
      second.stop("child");
    }
    assertEquals(List.of(pid), children.alive());

    Path renamed = Files.move(original, directory.resolve("renamed"));
    try (var third = ProcessManager.open(renamed, logs)) {
      assertEquals(pid, third.ensure(sleeper()).pid());
    }
  }

  @Test
  @DisplayName("two calls of ensure give the same process")
  void ensureTwice() throws Exception {
    try (var manager = open()) {
      assertSame(manager.ensure(sleeper()), manager.ensure(sleeper()));
      assertEquals(1, children.alive().size());
    }
  }

  @Test
  @DisplayName("many concurrent calls of ensure, through two managers, share one process")
  void ensureConcurrently() throws Exception {
    try (var one = open();
        var two = open();
        var threads = new TestThreads()) {
      List<Callable<Long>> calls =
          IntStream.range(0, 16)
              .<Callable<Long>>mapToObj(i -> () -> (i % 2 == 0 ? one : two).ensure(sleeper()).pid())
              .toList();
      Set<Long> pids =
          threads.invokeAll(calls).stream().map(f -> f.resultNow()).collect(Collectors.toSet());

      assertEquals(1, pids.size(), () -> "different processes: " + pids);
      assertEquals(List.copyOf(pids), children.alive());
    }
  }

  @Test
  @DisplayName("a changed command replaces the process")
  void replaces() throws Exception {
    try (var manager = open()) {
      ManagedProcess old = manager.ensure(sleeper());

      ManagedProcess changed = manager.ensure(children.shell("child", "exec sleep 2000"));

      assertNotEquals(old.pid(), changed.pid());
      assertEquals(new ProcessStatus.Stopped(), end(old));
      assertEquals(List.of(changed.pid()), children.alive());
    }
  }

  @Test
  @DisplayName("the digest depends on command, environment, directory and fingerprint")
  void digest() {
    var spec = ProcessSpec.of("a", "/bin/sh", "-c", "x").withEnvironment(Map.of("A", "B"));

    assertEquals(spec.digest(), spec.withGrace(Duration.ZERO).digest());
    assertNotEquals(spec.digest(), spec.withFingerprint("1").digest());
    assertNotEquals(spec.digest(), spec.withDirectory(Path.of("/tmp")).digest());
    assertNotEquals(spec.digest(), spec.withEnvironment(Map.of("A", "C")).digest());
    assertNotEquals(
        ProcessSpec.of("a", "/bin/sh", "bc").digest(),
        ProcessSpec.of("a", "/bin/sh", "b", "c").digest());
  }

  @Test
  @DisplayName("on a node that is root, a process runs as its account, and is adopted")
  void runsAsAnAccount() throws Exception {
    Needs.root("running a process as another account");
    ProcessSpec spec = sleeper().withAccount("nobody");
    assertNotEquals(sleeper().digest(), spec.digest());
    long pid;
    try (var first = open()) {
      pid = first.ensure(spec).pid();
      Path process = Path.of("/proc/" + pid);
      Await.until(
          PATIENCE,
          "the process to run as the user nobody",
          () -> Files.getOwner(process).getName().equals("nobody"));
    }
    try (var second = open()) {
      ManagedProcess adopted = second.ensure(spec);
      assertEquals(pid, adopted.pid());
      assertTrue(adopted.adopted());
      second.stop(spec.name());
      assertEquals(List.of(), children.alive());
    }
  }

  @Test
  @DisplayName("a missing account is named with the command that makes it")
  void unknownAccount() throws Exception {
    Needs.root("running a process as another account");
    try (var manager = open()) {
      ProcessException refused =
          assertThrows(
              ProcessException.class,
              () -> manager.ensure(sleeper().withAccount("polis-nobody-has-this")));
      assertTrue(
          refused.getMessage().contains("useradd --system polis-nobody-has-this"),
          refused::getMessage);
      assertEquals(List.of(), manager.records());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @DisplayName("a stop sends the signal of the spec, whether the node runs or not")
  void stopSignal(boolean runs) throws Exception {
    Path said = directory.resolve("said.txt");
    String script =
        "trap 'echo INT >%s; exit' INT; trap '' TERM; echo ready >%s; while :; do sleep 0.05; done"
            .formatted(said, said);
    // A shell cannot trap a signal that was ignored at its start, as in a shell's background job.
    ProcessSpec spec =
        children.shell("child", "exec env --default-signal=INT sh -c \"%s\"".formatted(script));
    try (var manager = open()) {
      manager.ensure(spec.withStopSignal(StopSignal.INT));
      Await.until(PATIENCE, "the child to be ready", () -> Files.exists(said));
      if (runs) {
        manager.stop(spec.name());
      } else {
        ProcessRecords.end(manager.records().getFirst(), PATIENCE);
      }
      assertEquals("INT\n", Files.readString(said));
      assertEquals(List.of(), children.alive());
    }
  }

  @Test
  @DisplayName("a foreign process with the recorded pid is neither adopted nor signalled")
  void pidReuse() throws Exception {
    try (var manager = open()) {
      long first = manager.ensure(sleeper()).pid();
      Process stranger = laterThan(first);
      try {
        children.killAll();
        doctor(first, stranger.pid());

        ManagedProcess started = manager.ensure(sleeper());

        assertFalse(started.adopted());
        assertNotEquals(stranger.pid(), started.pid());
        assertTrue(stranger.isAlive(), "the stranger was hit");
        manager.stop("child");
        assertTrue(stranger.isAlive(), "the stranger was hit by the stop");
      } finally {
        stranger.destroyForcibly();
      }
    }
  }

  /** Starts a process in a later clock tick, like any process that gets a reused id. */
  private static Process laterThan(long pid) throws Exception {
    long ticks = Proc.stat(pid).orElseThrow().startTicks();
    while (true) {
      Process process = new ProcessBuilder("/bin/sleep", "1000").start();
      if (Proc.stat(process.pid()).orElseThrow().startTicks() > ticks) {
        return process;
      }
      process.destroyForcibly();
    }
  }

  /** Acts as if the kernel had given the dead child's process id to the foreign process. */
  private void doctor(long from, long to) throws Exception {
    Path record = directory.resolve("child.json");
    String json = Files.readString(record);
    Files.writeString(record, json.replace("\"pid\": " + from, "\"pid\": " + to));
    assertNotEquals(json, Files.readString(record));
  }

  @Test
  @DisplayName("a record from before a reboot has no effect")
  void reboot() throws Exception {
    try (var manager = open()) {
      long first = manager.ensure(sleeper()).pid();
      Path record = directory.resolve("child.json");
      Files.writeString(
          record, Files.readString(record).replace(Proc.bootId(), "another-run-of-the-machine"));

      assertFalse(ProcessRecords.list(directory).getFirst().alive());
      assertNotEquals(first, manager.ensure(sleeper()).pid());
    }
  }

  @Test
  @DisplayName("a damaged record is refused by name and left alone")
  void damagedRecord() throws Exception {
    try (var manager = open()) {
      Path record = directory.resolve("child.json");
      Files.writeString(record, "{\"name\": \"child\"");

      var refused = assertThrows(ProcessException.class, () -> manager.ensure(sleeper()));

      assertTrue(refused.getMessage().contains(record.toString()), refused.getMessage());
      assertEquals("{\"name\": \"child\"", Files.readString(record));
      assertEquals(List.of(), children.alive());
    }
  }

  @Test
  @DisplayName("on a full disk no process starts, and the refusal says why; with space it starts")
  void fullDisk() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(directory);
        var manager = open()) {
      disk.leave(64 << 10);
      Path ballast = directory.resolve("ballast");
      assertThrows(IOException.class, () -> Files.write(ballast, new byte[1 << 20]));

      var refused = assertThrows(ProcessException.class, () -> manager.ensure(sleeper()));

      assertTrue(refused.getMessage().contains("free some space"), refused.getMessage());
      assertTrue(refused.getMessage().contains(directory.toString()), refused.getMessage());
      assertEquals(List.of(), children.alive());
      Files.delete(ballast);
      assertEquals(List.of(manager.ensure(sleeper()).pid()), children.alive());
      children.killAll();
    }
  }

  @ParameterizedTest(name = "killed at {0}")
  @EnumSource(StartStep.class)
  @DisplayName(
      "after kill -9 of the node during a start there is one process, which the next manager adopts")
  void killedParent(StartStep step) throws Exception {
    killParentAt(step);
    List<Long> left = children.alive();
    assertEquals(step == StartStep.INTENT_WRITTEN ? 0 : 1, left.size());

    try (var next = open()) {
      assertEquals(!left.isEmpty(), next.lives("child"));
      ManagedProcess process = next.ensure(sleeper());

      assertEquals(List.of(process.pid()), children.alive());
      assertTrue(next.lives("child"));
      assertEquals(!left.isEmpty(), process.adopted());
      assertTrue(left.isEmpty() || left.contains(process.pid()), "adoption kept the pid");
    }
  }

  @ParameterizedTest(name = "killed at {0}")
  @EnumSource(StartStep.class)
  @DisplayName("after kill -9 of the node during a start all processes can be stopped")
  void killedParentSwept(StartStep step) throws Exception {
    killParentAt(step);

    List<ProcessRecord> stopped = ProcessRecords.stopAll(directory);

    assertEquals(step == StartStep.INTENT_WRITTEN ? 0 : 1, stopped.size());
    assertEquals(List.of(), children.alive());
    assertEquals(List.of(), ProcessRecords.list(directory));
  }

  private void killParentAt(StartStep step) throws Exception {
    Process parent =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                ParentMain.class.getName(),
                directory.toString(),
                step.name(),
                children.mark())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("parent.out").toFile())
            .start();
    // A JVM starts in half a second, or in half a minute on busy processors.
    assertTrue(parent.waitFor(1, TimeUnit.MINUTES), "parent did not end");
    assertEquals(137, parent.exitValue(), () -> read(directory.resolve("parent.out")));
    // There may be a moment between the death of the parent and the child's new program.
    if (step != StartStep.INTENT_WRITTEN) {
      Await.until("the child runs", () -> children.alive().size() == 1);
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  @Test
  @DisplayName("the exit code of a started process is known")
  void exitCode() throws Exception {
    try (var manager = open()) {
      assertEquals(
          new ProcessStatus.Exited(7), end(manager.ensure(children.shell("child", "exit 7"))));
      ManagedProcess killed = manager.ensure(sleeper());
      ProcessHandle.of(killed.pid()).orElseThrow().destroyForcibly();
      assertEquals(new ProcessStatus.Exited(128 + 9), end(killed));
      assertEquals(java.util.Optional.empty(), manager.find("child"));
    }
  }

  @Test
  @DisplayName("the end of an adopted process is noticed, without an exit code")
  void adoptedExit() throws Exception {
    try (var first = open();
        var second = open()) {
      first.ensure(sleeper());
      ManagedProcess adopted = second.ensure(sleeper());
      ProcessHandle.of(adopted.pid()).orElseThrow().destroyForcibly();

      assertEquals(new ProcessStatus.Vanished(), end(adopted));
    }
  }

  @Test
  @DisplayName("an ended process is started again")
  void startsAgain() throws Exception {
    try (var manager = open()) {
      ManagedProcess first = manager.ensure(sleeper());
      ProcessHandle.of(first.pid()).orElseThrow().destroyForcibly();
      end(first);

      ManagedProcess second = manager.ensure(sleeper());

      assertFalse(second.adopted());
      assertEquals(List.of(second.pid()), children.alive());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("many processes without an environment do not delay the start of a dead child")
  void strangersWithoutEnvironment() throws Exception {
    List<Process> strangers = new ArrayList<>();
    try (var manager = open()) {
      ManagedProcess dead = manager.ensure(sleeper());
      ProcessHandle.of(dead.pid()).orElseThrow().destroyForcibly();
      end(dead);
      var stranger = new ProcessBuilder("sleep", "1000");
      stranger.environment().clear();
      for (int i = 0; i < 200; i++) {
        strangers.add(stranger.start());
      }

      long begun = System.nanoTime();
      manager.ensure(sleeper());
      Duration took = Duration.ofNanos(System.nanoTime() - begun);

      // Three scans of /proc with one wait of 255 ms in each; a wait for each process is 153 s.
      assertTrue(took.toSeconds() < 10, () -> "the start took " + took);
    } finally {
      strangers.forEach(Process::destroyForcibly);
      for (Process stranger : strangers) {
        stranger.waitFor();
      }
    }
  }

  @Test
  @DisplayName("a stop ends the process, its daemonized descendants and its record")
  void stopTree() throws Exception {
    try (var manager = open()) {
      ManagedProcess process =
          manager.ensure(children.shell("child", "setsid sleep 1000 & sleep 2000 & wait"));
      Await.until("three processes run", () -> children.alive().size() == 3);

      process.stop();

      assertEquals(List.of(), children.alive());
      assertEquals(new ProcessStatus.Stopped(), end(process));
      assertEquals(List.of(), manager.records());
      process.stop();
    }
  }

  @Test
  @DisplayName("a stop of a single process leaves its descendants, a stop by name ends them")
  void stopScope() throws Exception {
    try (var manager = open()) {
      ManagedProcess process =
          manager.ensure(
              children
                  .shell("child", "setsid sleep 1000 & wait")
                  .withScope(ProcessSpec.Scope.PROCESS));
      Await.until("two processes run", () -> children.alive().size() == 2);

      process.stop();
      assertEquals(1, children.alive().size());

      manager.stop("child");
      assertEquals(List.of(), children.alive());
    }
  }

  @Test
  @DisplayName("a process that ignores SIGTERM is killed after its grace period")
  void stopEscalates() throws Exception {
    try (var manager = open()) {
      ManagedProcess deaf =
          manager.ensure(
              children
                  .shell("child", "trap '' TERM; echo deaf; while :; do sleep 0.05; done")
                  .withGrace(Duration.ofMillis(300)));
      Await.until("the trap is set", () -> Files.readString(deaf.log()).contains("deaf"));
      long before = System.nanoTime();

      deaf.stop();

      assertTrue(System.nanoTime() - before >= 300_000_000, "it got its grace period");
      assertEquals(List.of(), children.alive());
      assertInstanceOf(ProcessStatus.Stopped.class, end(deaf));
    }
  }

  @Test
  @DisplayName("a process that handles SIGTERM ends by itself")
  void stopGraceful() throws Exception {
    try (var manager = open()) {
      ManagedProcess polite =
          manager.ensure(
              children.shell(
                  "child", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"));
      Await.until("the trap is set", () -> Files.readString(polite.log()).contains("up"));

      polite.stop();

      assertTrue(Files.readString(polite.log()).contains("bye"));
    }
  }

  @Test
  @DisplayName("a handle of an ended process does not stop its successor")
  void staleStop() throws Exception {
    try (var manager = open()) {
      ManagedProcess old = manager.ensure(sleeper());
      ManagedProcess next = manager.ensure(children.shell("child", "exec sleep 2000"));

      old.stop();

      assertEquals(List.of(next.pid()), children.alive());
      assertEquals(1, manager.records().size());
    }
  }

  @Test
  @DisplayName("closing a manager leaves its processes")
  void closeLeaves() throws Exception {
    ManagedProcess process;
    try (var manager = open()) {
      process = manager.ensure(sleeper());
    }
    assertEquals(List.of(process.pid()), children.alive());
  }

  @Test
  @DisplayName("a process gets a session of its own, and only the given environment and directory")
  void surroundings() throws Exception {
    try (var manager = open()) {
      ManagedProcess process = manager.ensure(sleeper().withDirectory(directory));

      Await.until(
          "it leads a session",
          () -> Proc.stat(process.pid()).orElseThrow().session() == process.pid());
      Await.until(
          "it has the variables that it was given, and no more",
          () ->
              Set.of("PATH", "POLIS_TEST_CHILD", "POLIS_PROCESS_TOKEN")
                  .equals(Children.variables(process.pid())));
      assertEquals(directory.toRealPath(), Path.of("/proc/" + process.pid() + "/cwd").toRealPath());
    }
  }

  @Test
  @DisplayName("a process is recognized by its token at each moment of an exec")
  void knownWhileItExecs() throws Exception {
    Path script = directory.resolve("again.sh");
    Files.writeString(script, "[ $1 = 0 ] && exec sleep 2000; exec sh " + script + " $(($1 - 1))");
    try (var manager = open()) {
      ManagedProcess process =
          manager.ensure(children.shell("child", "exec sh " + script + " 300"));
      do {
        assertEquals(
            List.of(process.pid()),
            Proc.startedWith(Children.variable(children.mark()), List.of(process.pid())));
      } while (!Files.readString(Path.of("/proc/" + process.pid() + "/comm")).equals("sleep\n"));
    }
  }

  @Test
  @DisplayName("a missing program or directory is refused with the reason and leaves no record")
  void cannotStart() throws Exception {
    try (var manager = open()) {
      var program =
          assertThrows(
              ProcessException.class,
              () -> manager.ensure(ProcessSpec.of("child", "/nowhere/etcd")));
      assertTrue(program.getMessage().contains("/nowhere/etcd"), program.getMessage());
      var place =
          assertThrows(
              ProcessException.class,
              () -> manager.ensure(sleeper().withDirectory(Path.of("/nowhere"))));
      assertTrue(place.getMessage().contains("/nowhere"), place.getMessage());
      assertEquals(List.of(), manager.records());
    }
  }

  @Test
  @DisplayName("a spec without an absolute program or with a wrong name is refused")
  void badSpec() {
    assertThrows(IllegalArgumentException.class, () -> ProcessSpec.of("child", "sleep", "1"));
    assertThrows(IllegalArgumentException.class, () -> ProcessSpec.of("../x", "/bin/sleep"));
    assertThrows(
        IllegalArgumentException.class,
        () -> ProcessSpec.of("child", "/bin/sleep").withLogLimit(0));
  }

  @Test
  @DisplayName("a missing directory has no records")
  void noDirectory() throws Exception {
    Path nowhere = new File(directory.toFile(), "nowhere").toPath();
    assertEquals(List.of(), ProcessRecords.list(nowhere));
    assertEquals(List.of(), ProcessRecords.stopAll(nowhere));
  }
}
