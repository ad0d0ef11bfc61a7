package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ProcTest {

  @Test
  @DisplayName("a process whose first thread has ended lives while another of its threads does")
  void firstThreadHasEnded() {
    assertFalse(new Proc.Stat(7, 'Z', 7, 2, 100).dead());
    assertTrue(new Proc.Stat(7, 'Z', 7, 1, 100).dead());
    assertTrue(new Proc.Stat(7, 'X', 7, 0, 100).dead());
    assertFalse(new Proc.Stat(7, 'S', 7, 1, 100).dead());
  }

  @Test
  @DisplayName("the threads of a process are counted")
  void threads() {
    // A JVM has threads for its collector and compiler before the program's own.
    assertTrue(Proc.stat(ProcessHandle.current().pid()).orElseThrow().threads() > 2);
  }
}
