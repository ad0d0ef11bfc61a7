package dev.polis.ctl.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.ctl.local.Steps.Line;
import dev.polis.fixtures.Await;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class StepsTest {

  private static final Duration LONG = Duration.ofSeconds(60);

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

  private Steps steps(int columns, Duration patience) {
    return new Steps(new PrintStream(printed, true, StandardCharsets.UTF_8), columns, patience);
  }

  private String screen() {
    return printed.toString(StandardCharsets.UTF_8);
  }

  @Test
  @DisplayName("a step that is done has a line with its time, and what else is to be known")
  void done() throws Exception {
    try (Steps steps = steps(0, LONG)) {
      String found =
          steps.await(
              "node 2 to register",
              (String result) -> new Line("node 2 has registered", ": " + result),
              () -> Optional.of("as x"),
              () -> "",
              "");
      assertEquals("as x", found);
    }
    assertTrue(screen().matches("✓ node 2 has registered \\(\\d\\.\\d s\\): as x\n"), screen());
  }

  @Test
  @DisplayName("a terminal shows what is waited for in a live line, which leaves nothing behind")
  void live() throws Exception {
    try (Steps steps = steps(50, LONG)) {
      steps.await(
          "node 2 to be a voter",
          (String _) -> Line.of("node 2 is a voter"),
          () -> Optional.of("x").filter(_ -> screen().contains("waiting for node 2 to be")),
          () -> "",
          "");
    }
    assertTrue(screen().contains("… waiting for node 2 to be a voter (0."), screen());
    assertTrue(screen().matches("(?s).*\r\u001b\\[K✓ node 2 is a voter \\([^\r]*"), screen());
  }

  @Test
  @DisplayName("a step that takes too long says what there is instead, and what to do")
  void late() {
    try (Steps steps = steps(0, Duration.ofSeconds(1))) {
      StepFailure failure =
          assertThrows(
              StepFailure.class,
              () ->
                  steps.await(
                      "node 2 to register",
                      (String _) -> Line.of(""),
                      Optional::empty,
                      () -> "the node waits for a leader",
                      "look at its log"));
      assertEquals(
          "waited 1 s for node 2 to register: the node waits for a leader", failure.getMessage());
      assertEquals("look at its log", failure.remedy());
    }
  }

  @Test
  @DisplayName("an interrupted call names the step that it was at")
  void present() throws Exception {
    try (Steps steps = steps(0, LONG)) {
      Thread waiter =
          Thread.ofVirtual()
              .start(
                  () ->
                      assertThrows(
                          InterruptedException.class,
                          () ->
                              steps.await(
                                  "node 3 to be HOME",
                                  (String _) -> Line.of(""),
                                  Optional::empty,
                                  () -> "",
                                  "")));
      Await.until(LONG, "the step to begin", () -> steps.present().isPresent(), () -> screen());
      assertTrue(steps.present().get().startsWith("waiting for node 3 to be HOME ("));
      waiter.interrupt();
      waiter.join();
      assertEquals(Optional.empty(), steps.present());
    }
  }
}
