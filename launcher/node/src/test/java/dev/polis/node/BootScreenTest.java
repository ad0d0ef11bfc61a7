package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BootScreenTest {
  private final AtomicLong nanos = new AtomicLong();
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();

  @Test
  @DisplayName("Without a terminal a long wait has one line, and one more when it ends")
  void plainTellsLongWaits() {
    BootScreen screen = screen(0);
    BootProgress progress = progress(screen);
    Wait wait = progress.waiting("etcd to elect a leader");
    wait.detail("1 of 3 members answers");

    pass(Duration.ofSeconds(4));
    screen.tick(progress.openWaits());
    pass(Duration.ofSeconds(2));
    screen.tick(progress.openWaits());
    screen.tick(progress.openWaits());
    wait.done("8e9e leads");
    wait.close();

    assertEquals(
        List.of(
            "waiting for etcd to elect a leader (6.0 s): 1 of 3 members answers",
            "✓ etcd to elect a leader (6.0 s): 8e9e leads"),
        lines());
  }

  @Test
  @DisplayName("A short wait that succeeds leaves no line, one that is given up does")
  void shortWaits() {
    BootProgress progress = progress(screen(0));
    progress.waiting("the disk").done("");
    try (Wait wait = progress.waiting("an address")) {
      wait.detail("no answer");
    }

    assertEquals(List.of("✗ gave up an address (0.0 s): no answer"), lines());
  }

  @Test
  @DisplayName(
      "On a terminal the oldest wait is the live line, cut to the width, and erased before lasting lines")
  void liveLine() {
    Terminal terminal = terminal(20);
    BootScreen screen = new BootScreen(terminal);
    BootProgress progress = progress(screen);
    progress.waiting("a leader with a very long name");
    progress.waiting("another");

    screen.tick(progress.openWaits());
    terminal.line("lasting");

    assertEquals(
        "… a leader with a v\r\u001b[Klasting\n… a leader with a v",
        output.toString(StandardCharsets.UTF_8));
  }

  @Test
  @DisplayName(
      "A restart does not cancel a power off; the first end counts, and later failures are printed as consequences")
  void endings() {
    BootProgress progress = progress(screen(0));

    progress.stop(StopReason.POWER_OFF);
    progress.stop(StopReason.PROCESS_RESTART);
    progress.fatal("storage", new IllegalStateException("the disk is gone"));

    assertEquals(StopReason.POWER_OFF, progress.stopReason());
    assertEquals(new BootProgress.Ending.Asked(StopReason.POWER_OFF), progress.ending().join());
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

  private BootProgress progress(BootScreen screen) {
    return new BootProgress(nanos::get, screen, Optional::empty, Optional.empty());
  }
}
