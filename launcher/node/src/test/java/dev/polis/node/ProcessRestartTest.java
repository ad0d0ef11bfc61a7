package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ProcessRestartTest {
  private static final List<String> JVM =
      List.of("/jdk/bin/java", "-Xmx96m", "-cp", "run", Main.class.getName());

  private static List<String> own(String... arguments) {
    List<String> own = new ArrayList<>(JVM);
    own.addAll(List.of(arguments));
    return own;
  }

  @Test
  @DisplayName("without a starter the JVM gets its options and the node its arguments")
  void sameCommand() {
    List<String> own = own("run", "--state", "run", "--set", "a.b=c");

    assertEquals(own, ProcessRestart.command(own, Optional.empty(), "/jdk"));
  }

  @Test
  @DisplayName("a starter gets the folder of the JVM and the node's arguments")
  void starter() {
    assertEquals(
        List.of("/start-node", "/jdk", "run", "--state", "s"),
        ProcessRestart.command(
            own("run", "--state", "s"), Optional.of(Path.of("/start-node")), "/jdk"));
  }

  @Test
  @DisplayName("options for a first start only are left out, in both spellings")
  void firstStart() {
    assertEquals(
        own("run", "--state=s", "--address", "127.0.0.2"),
        ProcessRestart.command(
            own(
                "run",
                "--state=s",
                "--recovery-key",
                "-",
                "--parameters=p.json",
                "--force-new-cluster",
                "abc",
                "--restore=r.db",
                "--address",
                "127.0.0.2"),
            Optional.empty(),
            "/jdk"));
  }
}
