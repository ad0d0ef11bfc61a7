package dev.polis.node.init;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ReaperProcessTest {
  @Test
  @Timeout(60)
  @DisplayName(
      "SEED-15 with real processes: three orphans are reaped, the exit code of an own child is not lost")
  void seed15_realOrphans() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                ReaperMain.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    List<String> lines = new ArrayList<>();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String line = out.readLine();
      while (line != null && lines.size() < 3) {
        lines.add(line);
        line = out.readLine();
      }
      lines.add(line);
    } finally {
      process.destroyForcibly().waitFor();
    }
    assertEquals(
        List.of("OWN 7", "REAPED 1 subreaper=0", "REAPED 2 subreaper=0", "REAPED 3 subreaper=0"),
        lines.stream().sorted().toList());
  }
}
