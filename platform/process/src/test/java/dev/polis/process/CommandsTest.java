package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CommandsTest {

  /** More than a pipe can hold, so that the writer is not done when the program closes its end. */
  private static final int INPUT = 1 << 20;

  @Test
  @DisplayName("a program that refuses without reading its input is reported with its own output")
  void refusesUnread() throws Exception {
    // It ends only when the pipe is broken, which could hide the program's own message.
    List<String> command = List.of("sh", "-c", "exec <&-; sleep 0.5; echo not permitted; exit 3");

    Commands.Result result = new Commands().run(Duration.ofSeconds(60), command, new byte[INPUT]);

    assertEquals(new Commands.Result(command, 3, "not permitted"), result);
  }

  @Test
  @DisplayName("the output of a program needs no particular folder to be writable")
  void outputFolder() {
    Path here = Path.of("/proc/self");
    Path absent = here.resolve("absent");
    Path takes = Path.of(System.getProperty("user.dir"));
    assertEquals(takes, Commands.writable(List.of(absent, takes, here)));
    assertEquals(absent, Commands.writable(List.of(here.resolve("gone"), absent)));
  }

  @Test
  @DisplayName("a folder that is full takes no output of a program")
  void fullFolder() {
    // The kernel says of this file system that it has no room, and root may write everywhere.
    Path full = Path.of("/proc/self");
    Path takes = Path.of(System.getProperty("user.dir"));
    assertEquals(takes, Commands.writable(List.of(full, takes)));
  }

  @Test
  @DisplayName("the output of a program has no name while it runs, so a killed node leaves no file")
  void outputWithoutName() throws Exception {
    // The input comes after the start.
    List<String> command = List.of("sh", "-c", "cat; readlink /proc/self/fd/1");

    Commands.Result result =
        new Commands()
            .run(Duration.ofSeconds(60), command, "read ".getBytes(StandardCharsets.US_ASCII));

    assertTrue(result.output().startsWith("read /"), result.output());
    assertTrue(result.output().endsWith(" (deleted)"), result.output());
  }

  @Test
  @DisplayName("a program that reads nothing of a long input is killed after its time")
  void readsNothing() {
    // The shell waits for its child, which has the pipe open, too.
    List<String> command = List.of("sh", "-c", "sleep 600; exit 3");

    String message =
        assertTimeoutPreemptively(
            Duration.ofSeconds(60),
            () ->
                assertThrows(
                        IOException.class,
                        () -> new Commands().run(Duration.ofSeconds(1), command, new byte[INPUT]))
                    .getMessage());

    assertEquals("sh did not end within 1 s; it was killed", message);
  }
}
