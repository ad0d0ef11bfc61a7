package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.boot.StopReason;
import dev.polis.boot.Wait;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BootScreenTest {
  private final AtomicLong nanos = new AtomicLong();
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();

  @Test
  @DisplayName("Without a terminal a wait is told once when it gets long, and once when it ends")
  void plainTellsLongWaits() {
    BootScreen screen = screen(0);
    BootBoard board = new BootBoard(nanos::get, screen);
    Wait wait = board.waiting("etcd to elect a leader");
    wait.detail("1 of 3 members answers");

    pass(Duration.ofSeconds(4));
    screen.tick(board.openWaits());
    pass(Duration.ofSeconds(2));
    screen.tick(board.openWaits());
    screen.tick(board.openWaits());
    wait.done("8e9e leads");
    wait.close();

    assertEquals(
        List.of(
            "waiting for etcd to elect a leader (6.0 s): 1 of 3 members answers",
            "✓ etcd to elect a leader (6.0 s): 8e9e leads"),
        lines());
  }

  @Test
  @DisplayName("A short wait that was worth it leaves no line, one that was given up does")
  void shortWaits() {
    BootBoard board = new BootBoard(nanos::get, screen(0));
    board.waiting("the disk").done("");
    try (Wait wait = board.waiting("an address")) {
      wait.detail("no answer");
    }

    assertEquals(List.of("✗ gave up an address (0.0 s): no answer"), lines());
  }

  @Test
  @DisplayName(
      "On a terminal the oldest wait is the live line, cut to the width, erased for lasting lines")
  void liveLine() {
    Terminal terminal = terminal(20);
    BootScreen screen = new BootScreen(terminal);
    BootBoard board = new BootBoard(nanos::get, screen);
    board.waiting("a leader with a very long name");
    board.waiting("another");

    screen.tick(board.openWaits());
    terminal.line("lasting");

    assertEquals(
        "… a leader with a v\r\u001b[Klasting\n… a leader with a v",
        output.toString(StandardCharsets.UTF_8));
  }

  @Test
  @DisplayName(
      "A power off is not taken back by a restart; the first ending counts, later failures are told as consequences")
  void endings() {
    BootBoard board = new BootBoard(nanos::get, screen(0));

    board.stop(StopReason.POWER_OFF);
    board.stop(StopReason.PROCESS_RESTART);
    board.fatal("storage", new IllegalStateException("the disk is gone"));

    assertEquals(StopReason.POWER_OFF, board.stopReason());
    assertEquals(new BootBoard.Ending.Asked(StopReason.POWER_OFF), board.ending().join());
    assertEquals(List.of("after that, storage failed too: the disk is gone"), lines());
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private BootScreen screen(int columns) {
    return new BootScreen(terminal(columns));
  }

  private Terminal terminal(int columns) {
    return new Terminal(new PrintStream(output, true, StandardCharsets.UTF_8), columns);
  }

  private List<String> lines() {
    return output.toString(StandardCharsets.UTF_8).lines().toList();
  }
}
