package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.supervision.RunState;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ProcessTaskTest {
  @TempDir Path directory;
  private final LogTree logs = LogTree.create();
  private final Children children = new Children();

  @AfterEach
  void nothingStays() throws Exception {
    children.killAll();
  }

  private static boolean is(SupervisionTree tree, RunState state) {
    return tree.runnables().peek().orElseThrow().stream()
        .anyMatch(status -> status.dn().equals("root.organ.child") && status.state() == state);
  }

  @Test
  @DisplayName(
      "a child is healthy once the probe passes, has its log in the journal, and keeps running when cancelled")
  void life() throws Exception {
    var ready = new AtomicBoolean();
    try (var manager = ProcessManager.open(directory, logs)) {
      try (var tree = SupervisionTree.open(logs)) {
        var organ = tree.organ("organ");
        organ.run(
            "child",
            new ProcessTask(
                manager,
                children.shell("child", "echo hello; exec sleep 1000"),
                ready::get,
                LineConverter.raw()));
        Await.until(
            "the log is delivered",
            () -> Journal.lines(logs, "root.organ.child").contains("hello"));
        assertTrue(is(tree, RunState.NEW), "not healthy before the probe passes");

        ready.set(true);
        Await.until("it is healthy", () -> is(tree, RunState.HEALTHY));
      }
      assertEquals(1, children.alive().size(), "cancelling stopped the process");
    }
  }

  @ParameterizedTest
  @EnumSource(StopReason.class)
  @DisplayName("a child ends when its role is removed or the node powers off, and stays otherwise")
  void stopReasons(StopReason reason) throws Exception {
    try (var manager = ProcessManager.open(directory, logs);
        var tree = SupervisionTree.open(logs)) {
      var organ = tree.organ("organ");
      organ.run("child", task(manager));
      Await.until("it runs", () -> Journal.lines(logs, "root.organ.child").contains("up"));
      Await.until("it is healthy", () -> is(tree, RunState.HEALTHY));
      long pid = manager.find("child").orElseThrow().pid();

      assertEquals(List.of(), organ.close(reason));

      if (reason.endsWork()) {
        assertEquals(List.of(), children.alive());
        assertEquals(List.of(), manager.records());
        assertTrue(
            Journal.lines(logs, "root.organ.child").contains("goodbye"),
            () -> "its end is not in the log: " + Journal.lines(logs, "root.organ.child"));
      } else {
        assertTrue(children.alive().contains(pid), "the child has ended");
        tree.organ("organ").run("child", task(manager));
        Await.until("the successor adopts it", () -> is(tree, RunState.HEALTHY));
        assertEquals(pid, manager.find("child").orElseThrow().pid());
      }
    }
  }

  @Test
  @DisplayName("a child ends with its role, also while its log is read")
  void endsWhileItsLogIsRead() throws Exception {
    var reading = new CountDownLatch(1);
    LineConverter untilInterrupted =
        line -> {
          reading.countDown();
          while (!Thread.currentThread().isInterrupted()) {
            Thread.onSpinWait();
          }
          return LineConverter.raw().convert(line);
        };
    try (var manager = ProcessManager.open(directory, logs);
        var tree = SupervisionTree.open(logs)) {
      var organ = tree.organ("organ");
      organ.run(
          "child",
          new ProcessTask(
              manager,
              children.shell("child", "echo up; exec sleep 1000"),
              ReadyProbe.running(),
              untilInterrupted));
      assertTrue(reading.await(20, TimeUnit.SECONDS), "nothing was read of the log within 20 s");

      assertEquals(List.of(), organ.close(StopReason.ROLE_REMOVED));

      assertEquals(List.of(), children.alive());
      assertEquals(List.of(), manager.records());
    }
  }

  private ProcessTask task(ProcessManager manager) {
    return new ProcessTask(
        manager,
        children.shell(
            "child", "trap 'echo goodbye; exit 0' TERM; echo up; while :; do sleep 0.02; done"),
        ReadyProbe.running(),
        LineConverter.raw());
  }

  @Test
  @DisplayName("children that depend on one another end in order when their role is removed")
  void endInOrder() throws Exception {
    Path ends = directory.resolve("ends");
    try (var manager = ProcessManager.open(directory.resolve("processes"), logs);
        var tree = SupervisionTree.open(logs)) {
      var organ = tree.organ("organ");
      for (String name : List.of("containerd", "kubelet")) {
        organ.run(
            name,
            new ProcessTask(
                manager,
                children.shell(
                    name,
                    "trap 'sleep 0.2; echo %s >> %s; exit 0' TERM; echo up; while :; do sleep 0.02; done"
                        .formatted(name, ends)),
                ReadyProbe.running(),
                LineConverter.raw()));
        Await.until(name + " runs", () -> Journal.lines(logs, "root.organ." + name).contains("up"));
      }

      assertEquals(List.of(), organ.close(StopReason.ROLE_REMOVED));

      assertEquals(List.of("kubelet", "containerd"), Files.readAllLines(ends));
    }
  }

  @Test
  @DisplayName("a run that ends with its group leaves its child to the next run")
  void restartAdopts() throws Exception {
    var mayDie = new CountDownLatch(1);
    var deaths = new AtomicInteger();
    try (var manager = ProcessManager.open(directory, logs);
        var tree = SupervisionTree.open(logs)) {
      tree.organ("organ")
          .group(
              Map.of(
                  "child",
                  task(manager),
                  "sibling",
                  context -> {
                    context.healthy();
                    mayDie.await();
                    if (deaths.getAndIncrement() == 0) {
                      throw new IOException("on purpose");
                    }
                    context.awaitCancelled();
                  }));
      Await.until("it runs", () -> is(tree, RunState.HEALTHY));
      long pid = manager.find("child").orElseThrow().pid();

      mayDie.countDown();

      Await.until(
          "it runs again",
          () ->
              tree.runnables().peek().orElseThrow().stream()
                  .anyMatch(
                      status ->
                          status.dn().equals("root.organ.child")
                              && status.restarts() == 1
                              && status.state() == RunState.HEALTHY));
      assertTrue(children.alive().contains(pid), "the child has ended");
    }
  }

  @Test
  @DisplayName("when the process dies the runnable dies with its last lines and starts another")
  void restarts() throws Exception {
    try (var manager = ProcessManager.open(directory, logs);
        var tree = SupervisionTree.open(logs)) {
      tree.organ("organ")
          .run(
              "child",
              new ProcessTask(
                  manager,
                  children.shell(
                      "child",
                      "trap 'printf dying; exit 3' TERM; echo up; while :; do sleep 0.02; done"),
                  ReadyProbe.running(),
                  LineConverter.raw()));
      Await.until("it runs", () -> Journal.lines(logs, "root.organ.child").contains("up"));
      long first = manager.find("child").orElseThrow().pid();

      ProcessHandle.of(first).orElseThrow().destroy();

      Await.until(
          "another runs", () -> manager.find("child").filter(p -> p.pid() != first).isPresent());
      assertNotEquals(first, manager.find("child").orElseThrow().pid());
      var journal = Journal.lines(logs, "root.organ.child");
      assertTrue(journal.contains("dying"), () -> "its last lines are missing: " + journal);
      assertTrue(
          journal.stream().anyMatch(line -> line.contains("exit code 3")),
          () -> "the code is missing: " + journal);
    }
  }
}
