package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CommandsTest {

  /** More than a pipe holds: the writer is still at it when the program closes its end. */
  private static final int INPUT = 1 << 20;

  @Test
  @DisplayName("a program that refuses without reading its input is known by its own words")
  void refusesUnread() throws Exception {
    // It ends only when the pipe is broken, which would else be all that its caller hears.
    List<String> command = List.of("sh", "-c", "exec <&-; sleep 0.5; echo not permitted; exit 3");

    Commands.Result result = new Commands().run(Duration.ofSeconds(60), command, new byte[INPUT]);

    assertEquals(new Commands.Result(command, 3, "not permitted"), result);
  }

  @Test
  @DisplayName("a program that reads nothing of a long input is killed after its time")
  void readsNothing() {
    // The shell waits for its child, which holds the pipe too.
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
