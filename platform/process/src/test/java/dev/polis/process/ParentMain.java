package dev.polis.process;

import dev.polis.logtree.LogTree;
import java.nio.file.Path;

/** Plays a node that is killed with signal 9 at a given step of a start. */
final class ParentMain {
  private ParentMain() {}

  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    StartStep fatal = StartStep.valueOf(arguments[1]);
    String mark = arguments[2];
    var processes =
        new Processes(
            directory,
            LogTree.create(),
            step -> {
              if (step == fatal) {
                die();
              }
            });
    processes.ensure(Children.spec(mark, "child", "exec sleep 1000"));
    throw new AssertionError("survived step " + fatal);
  }

  /** Lets the kernel end this process: without hooks, finally blocks or a flush. */
  private static void die() {
    try {
      new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid())).start();
      Thread.currentThread().join();
    } catch (java.io.IOException | InterruptedException e) {
      throw new AssertionError("cannot kill myself", e);
    }
  }
}
