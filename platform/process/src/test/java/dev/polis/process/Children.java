package dev.polis.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
        if (environment(pid).contains(variable(mark))
            && Proc.stat(pid).filter(stat -> !stat.dead()).isPresent()) {
          found.add(pid);
        }
      }
    }
    return found;
  }

  static List<String> environment(long pid) {
    try {
      String all = Files.readString(Path.of("/proc/" + pid + "/environ"), StandardCharsets.UTF_8);
      return List.of(all.split("\0"));
    } catch (IOException gone) {
      return List.of();
    }
  }

  void killAll() throws Exception {
    for (long pid : alive()) {
      ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
    Await.until("all test children are gone", () -> alive().isEmpty());
  }
}
