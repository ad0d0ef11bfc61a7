package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Needs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SandboxProcessesTest {

  private static final Path SLEEP = Path.of("/bin/sleep");

  @TempDir private Path folder;

  private static Process started(String... command) throws Exception {
    return new ProcessBuilder(command).start();
  }

  private static void awaitProgram(Process process, Path program) throws Exception {
    Path exe = Path.of("/proc", Long.toString(process.pid()), "exe");
    Await.until(program + " to run", () -> Files.readSymbolicLink(exe).equals(program));
  }

  @Test
  @DisplayName(
      "the processes of a program are those of this mount namespace, not of another node's sandbox")
  void ofThisNamespace() throws Exception {
    Needs.root("a mount namespace of its own");
    Path program = Files.copy(SLEEP.toRealPath(), folder.toRealPath().resolve("shim"));
    Process here = started(program.toString(), "infinity");
    Process elsewhere = started("unshare", "--mount", program.toString(), "infinity");
    try {
      for (Process process : List.of(here, elsewhere)) {
        awaitProgram(process, program);
      }
      assertEquals(Set.of(here.pid()), SandboxProcesses.running(program));
    } finally {
      here.destroyForcibly();
      elsewhere.destroyForcibly();
    }
  }
}
