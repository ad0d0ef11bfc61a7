package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.supervision.RunState;
import dev.polis.supervision.SupervisionTree;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
  @DisplayName("healthy once the probe passes, its log in the journal, left running when cancelled")
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

  @Test
  @DisplayName("when the process dies the runnable dies with its last words and starts another")
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
      assertTrue(journal.contains("dying"), () -> "last words are missing: " + journal);
      assertTrue(
          journal.stream().anyMatch(line -> line.contains("exit code 3")),
          () -> "the code is missing: " + journal);
    }
  }
}
