package dev.polis.process;

import dev.polis.fixtures.Await;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/** Marks real children by a variable of their environment, so that the test finds them all. */
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

  /** Returns the names of the variables in the environment of a process. */
  static Set<String> variables(long pid) throws IOException {
    try (var environ = new FileInputStream("/proc/" + pid + "/environ")) {
      return Arrays.stream(new String(environ.readAllBytes(), StandardCharsets.UTF_8).split("\0"))
          .map(variable -> variable.split("=")[0])
          // The shell sets it.
          .filter(name -> !name.equals("PWD"))
          .collect(Collectors.toSet());
    }
  }

  /** Returns the live processes with this mark. */
  List<Long> alive() {
    return Proc.withVariable(variable(mark)).stream().map(Proc.Stat::pid).toList();
  }

  /** Kills repeatedly, since one during a fork or exec may be missed once. */
  void killAll() throws Exception {
    Await.until(
        "the end of all test children",
        () -> {
          for (long pid : alive()) {
            ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
          }
          return alive().isEmpty();
        });
  }
}
