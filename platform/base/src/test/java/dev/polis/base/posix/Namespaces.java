package dev.polis.base.posix;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Runs {@link NamespaceMain} with namespaces of its own. */
final class Namespaces {

  /** Holds the result of the process. */
  record Ended(int exit, List<String> lines) {}

  private Namespaces() {}

  static void assumeRoot() throws Exception {
    assumeTrue(Machine.effectiveUser() == 0, "namespaces need root");
  }

  static Ended run(List<String> unshare, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("unshare"));
    command.addAll(unshare);
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            NamespaceMain.class.getName()));
    command.addAll(Arrays.asList(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), output.lines().toList());
  }
}
