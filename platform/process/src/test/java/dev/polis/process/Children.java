package dev.polis.process;

import dev.polis.fixtures.Await;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Real children that can be told from all others on the machine by a word in their environment. */
final class Children {
  private static final String VARIABLE = "POLIS_TEST_CHILD";

  private final String mark = UUID.randomUUID().toString();

  static String variable(String mark) {
    return VARIABLE + "=" + mark;
  }

  String mark() {
    return mark;
  }

  ProcessSpec shell(String name, String script) {
    return spec(mark, name, script);
  }

  static ProcessSpec spec(String mark, String name, String script) {
    return ProcessSpec.of(name, "/bin/sh", "-c", script)
        .withEnvironment(Map.of(VARIABLE, mark, "PATH", "/usr/bin:/bin"));
  }

  /** The live processes of this mark. */
  List<Long> alive() throws IOException {
    List<Long> found = new ArrayList<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
      for (Path entry : all) {
        long pid = Long.parseLong(entry.getFileName().toString());
        if (Proc.environment(pid).contains(variable(mark))
            && Proc.stat(pid).filter(stat -> !stat.dead()).isPresent()) {
          found.add(pid);
        }
      }
    }
    return found;
  }

  /** Kills again and again: one that is in the midst of a fork or exec may be missed once. */
  void killAll() throws Exception {
    Await.until(
        "all test children are gone",
        () -> {
          for (long pid : alive()) {
            ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
          }
          return alive().isEmpty();
        });
  }
}
