package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reads the refusals of a place and a limit with which a node cannot start. */
class NodeNeedsTest {

  @TempDir Path directory;
  private ScriptFolder scripts;

  @BeforeEach
  void copy() throws Exception {
    scripts = ScriptFolder.in(directory);
  }

  @Test
  @DisplayName("A limit of open files that a node exceeds is refused, with what raises it")
  void fewDescriptors() throws Exception {
    Finished run = node("ulimit -n 64; requires_descriptors");
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err().contains("may open 64 files here, and a node needs 1024")
            && run.err().contains("next: raise the limit: ulimit -n"),
        run.all());
    node("requires_descriptors").requireSuccess("the limit of this machine");
  }

  @ParameterizedTest
  @CsvSource({
    "Read-only file system,is mounted read-only,mount it writable",
    "No space left on device,takes no more files,df -i",
    "Permission denied,belongs to,start the node as",
    "Operation not permitted,Operation not permitted,chattr -i",
    "Input/output error,takes no file: Input/output error,repair that"
  })
  @DisplayName("A state directory that takes no file is refused, with the cause and the remedy")
  void unwritable(String reason, String cause, String remedy) throws Exception {
    scripts.program(
        "mktemp", "echo \"mktemp: failed to create file '$1': %s\"; exit 1".formatted(reason));
    Finished run = node("requires_writable " + directory);
    assertEquals(3, run.code(), run.all());
    List<String> lines = run.err().lines().toList();
    assertTrue(lines.getFirst().contains(directory.toString()), run.all());
    assertTrue(lines.getFirst().contains(cause), run.all());
    assertTrue(lines.getLast().startsWith("polis: next: "), run.all());
    assertTrue(lines.getLast().contains(remedy), run.all());
  }

  @Test
  @DisplayName("A state directory that cannot be made is refused with the folder above it")
  void unmade() throws Exception {
    scripts.program(
        "mkdir", "echo \"mkdir: cannot create directory '$2': Permission denied\"; exit 1");
    Finished run = node("requires_writable %1$s/absent/state".formatted(directory));
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().startsWith("polis: %s belongs to ".formatted(directory)), run.all());
    assertTrue(run.err().contains("polis: next: start the node as "), run.all());
  }

  @Test
  @DisplayName("A state directory that takes files stays as it was")
  void writable() throws Exception {
    Path state = directory.resolve("new/state");
    node("requires_writable " + state).requireSuccess("requires_writable");
    try (Stream<Path> left = Files.list(state)) {
      assertEquals(List.of(), left.toList());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'echo a; echo damaged >&2; exit 1', damaged",
    "exit 139, 'nothing, and ended with 139'"
  })
  @DisplayName("A damaged etcd is refused with what it prints instead of its version")
  void damagedEtcd(String script, String words) throws Exception {
    scripts.executable("given/etcd", script);
    scripts.executable("given/etcdctl", "");
    Finished run = node("source launcher/script/etcd.sh; etcd_check given");
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err().contains("given/etcd does not report its version, but: %s\n".formatted(words)),
        run.all());
    assertTrue(run.err().contains("polis: next: install it again"), run.all());
  }

  private Finished node(String command) throws Exception {
    return scripts.finish(
        List.of(
            "bash",
            "-c",
            "set -euo pipefail; cd %s; source launcher/script/words.sh; source launcher/script/node.sh; %s"
                .formatted(directory, command)));
  }
}
