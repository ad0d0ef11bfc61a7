package dev.polis.ctl.session;

import dev.polis.process.OpenFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Explains a missing state directory. If it was renamed or deleted, the process of its node may
 * still run.
 *
 * @param state the directory, absolute
 */
record LostState(Path state) {

  private static final Path PROC = Path.of("/proc");

  /** The name of the launcher's class, which the command line of a node's process has. */
  private static final String NODE = "dev.polis.node.Main";

  /** The file that the process of a node holds open. */
  private static final String LOCK = "/node.lock";

  /** The kernel's mark at the name of an open file that was deleted. */
  private static final String DELETED = " (deleted)";

  /** Returns what the operator reads. */
  String text() {
    return node().map(this::text).orElseGet(this::neverStarted);
  }

  private String text(Path node) {
    Optional<String> lock =
        OpenFiles.of(node).stream()
            .filter(file -> file.endsWith(LOCK) || file.endsWith(LOCK + DELETED))
            .findFirst();
    if (lock.isEmpty()) {
      return neverStarted();
    }
    if (lock.get().endsWith(DELETED)) {
      return "state directory %s was deleted, and the programs of its node keep running: end them (kill %s), then restore the directory from a copy; if there is none, first save what they have open: ls -l /proc/NUMBER/fd"
          .formatted(state, programs());
    }
    String now = lock.get().substring(0, lock.get().length() - LOCK.length());
    return "state directory %s is at %s now, and the process %s of its node keeps running: rename it back (mv %s %s), and the node finds its files again"
        .formatted(state, now, node.getFileName(), CtlName.quoted(now), CtlName.quoted(state));
  }

  private String neverStarted() {
    return "state directory %s does not exist; start a node with './polis up --state %s'"
        .formatted(state, CtlName.quoted(state));
  }

  /** Finds the process of a node that was started with this state directory. */
  private Optional<Path> node() {
    return processes().stream().filter(this::isNode).findFirst();
  }

  private boolean isNode(Path process) {
    try {
      List<String> command = List.of(Files.readString(process.resolve("cmdline")).split("\0"));
      int option = command.indexOf("--state") + 1;
      return command.contains(NODE)
          && option > 0
          && option < command.size()
          && Path.of(command.get(option)).equals(state);
    } catch (IOException ended) {
      return false;
    }
  }

  /** Returns the numbers of the processes with deleted files of this state directory. */
  private String programs() {
    return processes().stream()
        .filter(
            process ->
                OpenFiles.of(process).stream()
                    .anyMatch(file -> file.startsWith(state + "/") && file.endsWith(DELETED)))
        .map(process -> process.getFileName().toString())
        .collect(Collectors.joining(" "));
  }

  private static List<Path> processes() {
    return ProcessHandle.allProcesses()
        .map(process -> PROC.resolve(Long.toString(process.pid())))
        .toList();
  }
}
