package dev.polis.ctl.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Starts clusters with a script that refuses each node. */
class LocalMainTest {

  @TempDir Path directory;
  private Path base;

  @BeforeEach
  void scripts() throws Exception {
    base = Files.createDirectory(directory.resolve("base"));
    Path polis = directory.resolve("polis");
    Files.writeString(
        polis,
        """
        #!/bin/sh
        cd %s
        echo "$*" >>calls
        while [ "$(wc -l <calls)" -lt "$(cat wanted 2>/dev/null || echo 1)" ]; do sleep 0.1; done
        echo "polis: no etcd here"
        echo "polis: next: install it"
        exit 3
        """
            .formatted(directory));
    Files.setPosixFilePermissions(polis, PosixFilePermissions.fromString("rwx------"));
  }

  private Finished up(String... more) {
    List<String> words = new ArrayList<>(List.of("--base", base.toString()));
    words.addAll(List.of("--polis", directory.resolve("polis").toString(), "--etcd", "/etcd"));
    words.addAll(List.of(more));
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    int code =
        LocalMain.run(
            new PrintStream(printed, true, StandardCharsets.UTF_8), words.toArray(String[]::new));
    return new Finished(code, "", printed.toString(StandardCharsets.UTF_8));
  }

  @Test
  @DisplayName("a node that does not start is named, with the cause, the remedy and both commands")
  void failedStart() throws Exception {
    Finished run = up("--nodes", "3", "--address", "127.0.9.7", "--", "--log", "=INFO");

    assertEquals(1, run.code(), run::all);
    String script = directory.resolve("polis").toString();
    assertTrue(run.err().contains("polis: the start of node 1: no etcd here\n"), run::all);
    assertTrue(
        run.err()
            .contains(
                "polis: next: install it; then repair that, and continue with: %s up --nodes 3 --state %s"
                    .formatted(script, base)),
        run::all);
    assertTrue(run.err().contains("%s down --state %s ends all".formatted(script, base)), run::all);
    assertEquals(
        List.of(
            "up --detach --state %s/1 --address 127.0.9.7 --etcd /etcd --log =INFO"
                .formatted(base)),
        Files.readAllLines(directory.resolve("calls")));
    assertEquals("rwx------", permissions(base.resolve("2")));
  }

  private static String permissions(Path file) throws Exception {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
  }

  @Test
  @DisplayName("members start at the same time, and none is founded anew beside them")
  void members() throws Exception {
    for (int number = 2; number <= 3; number++) {
      Path esp = Files.createDirectories(base.resolve(number + "/esp"));
      Files.createFile(esp.resolve("sealed_configuration.pb"));
    }
    Finished lost = up("--nodes", "3");
    assertEquals(1, lost.code(), lost::all);
    assertTrue(lost.err().contains("but node 2, node 3 are members"), lost::all);
    assertFalse(Files.exists(directory.resolve("calls")), "nothing was started");

    Path esp = Files.createDirectories(base.resolve("1/esp"));
    Files.createFile(esp.resolve("sealed_configuration.pb"));
    // The first failure ends the other starts, so each waits until all have begun.
    Files.writeString(directory.resolve("wanted"), "3");
    up("--nodes", "3");
    List<String> calls = Files.readAllLines(directory.resolve("calls"));
    assertEquals(3, calls.size(), calls::toString);
    assertTrue(calls.stream().noneMatch(call -> call.contains("--parameters")), calls::toString);
  }

  @Test
  @DisplayName("a recovery key that is given goes to the start of each member")
  void recoveryKey() throws Exception {
    for (int number = 1; number <= 3; number++) {
      Path esp = Files.createDirectories(base.resolve(number + "/esp"));
      Files.createFile(esp.resolve("sealed_configuration.pb"));
    }
    Path key = Files.createFile(directory.resolve("key.pem"));
    Files.writeString(directory.resolve("wanted"), "3");

    up("--nodes", "3", "--recovery-key", key.toString());

    List<String> calls = Files.readAllLines(directory.resolve("calls"));
    assertEquals(3, calls.size(), calls::toString);
    assertTrue(
        calls.stream().allMatch(call -> call.contains(" --recovery-key %s ".formatted(key))),
        calls::toString);
  }

  @Test
  @DisplayName("a recovery key that is not there is refused before a node starts")
  void missingRecoveryKey() {
    Path key = directory.resolve("key.pem");

    Finished run = up("--nodes", "3", "--recovery-key", key.toString());

    assertEquals(3, run.code(), run::all);
    assertTrue(run.err().contains("the recovery key %s does not exist".formatted(key)), run::all);
    assertFalse(Files.exists(directory.resolve("calls")), "a node was started");
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.9.253", "::1", "localhost"})
  @DisplayName("addresses that are not there for all nodes are refused")
  void addresses(String address) throws Exception {
    Finished run = up("--nodes", "3", "--address", address);
    assertEquals(2, run.code(), run::all);
    assertTrue(run.err().contains(address), run::all);
    assertFalse(Files.exists(base.resolve("1")), "it made state directories");
  }

  @Test
  @DisplayName("a second call keeps the addresses of the first, and refuses others")
  void keptAddresses() throws Exception {
    up("--nodes", "3", "--address", "127.0.9.7");
    Finished other = up("--nodes", "3", "--address", "127.0.9.8");
    assertEquals(3, other.code(), other::all);
    assertTrue(other.err().contains("from 127.0.9.7 on, not from 127.0.9.8"), other::all);
    up("--nodes", "3");
    assertTrue(
        Files.readAllLines(directory.resolve("calls")).getLast().contains("--address 127.0.9.7 "));
  }

  @Test
  @DisplayName("a smaller cluster, and a second call at the same time, are refused")
  void refusals() throws Exception {
    for (int number = 1; number <= 5; number++) {
      Files.createDirectory(base.resolve(Integer.toString(number)));
    }
    Finished fewer = up("--nodes", "3");
    assertEquals(3, fewer.code(), fewer::all);
    assertTrue(fewer.err().contains("next: give --nodes 5"), fewer::all);

    try (FileChannel mark =
            FileChannel.open(
                base.resolve("cluster"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = mark.lock()) {
      assertTrue(lock.isValid());
      Finished second = up("--nodes", "5");
      assertEquals(4, second.code(), second::all);
      assertTrue(second.err().contains("another call starts the cluster"), second::all);
    }
  }
}
