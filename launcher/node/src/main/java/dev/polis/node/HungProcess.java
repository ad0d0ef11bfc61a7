package dev.polis.node;

import dev.polis.node.exit.RootCause;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Finds from outside what a silent process of a node does: from the files of the process, and from
 * the kernel.
 */
final class HungProcess {
  private static final Path PROC = Path.of("/proc");

  private final NodeDirectory directory;
  private final long pid;

  HungProcess(NodeDirectory directory, long pid) {
    this.directory = directory;
    this.pid = pid;
  }

  /** Returns why the node does not answer, and since when; empty if nothing is known against it. */
  Optional<String> words() {
    String state = status(PROC.resolve(Long.toString(pid)), "State:");
    if (state.startsWith("T") || state.startsWith("t")) {
      return Optional.of(
          "it is held by a signal and answers nothing; \"kill -CONT %d\" lets it run"
              .formatted(pid));
    }
    try (var lines = Files.lines(directory.unresponsive())) {
      return lines
          .findFirst()
          .map(line -> line + "; the stacks of its threads are in " + directory.unresponsive());
    } catch (IOException none) {
      return Optional.empty();
    }
  }

  /** Returns a line for each thread of the process: its name, its state, where in the kernel. */
  String threads() {
    StringBuilder text = new StringBuilder("Threads as the kernel shows them:\n\n");
    try (DirectoryStream<Path> tasks =
        Files.newDirectoryStream(PROC.resolve(Long.toString(pid)).resolve("task"))) {
      for (Path task : tasks) {
        text.append(
            "%s \"%s\" %s %s%n"
                .formatted(
                    task.getFileName(),
                    status(task, "Name:"),
                    status(task, "State:"),
                    line(task.resolve("wchan"))));
      }
    } catch (IOException e) {
      text.append("they cannot be listed: ").append(RootCause.of(e)).append('\n');
    }
    return text.toString();
  }

  private static String status(Path process, String field) {
    try (var lines = Files.lines(process.resolve("status"))) {
      return lines
          .filter(line -> line.startsWith(field))
          .findFirst()
          .map(line -> line.substring(field.length()).strip())
          .orElse("");
    } catch (IOException gone) {
      return "";
    }
  }

  private static String line(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException goneOrForbidden) {
      return "";
    }
  }
}
