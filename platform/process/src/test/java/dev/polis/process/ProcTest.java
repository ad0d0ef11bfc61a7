package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ProcTest {

  @Test
  @DisplayName("a process whose first thread has ended lives as long as another of its threads")
  void firstThreadHasEnded() {
    assertFalse(new Proc.Stat(7, 'Z', 7, 2, 100).dead());
    assertTrue(new Proc.Stat(7, 'Z', 7, 1, 100).dead());
    assertTrue(new Proc.Stat(7, 'X', 7, 0, 100).dead());
    assertFalse(new Proc.Stat(7, 'S', 7, 1, 100).dead());
  }

  @Test
  @DisplayName("the threads of a process are counted")
  void threads() {
    // A JVM has some for its collector and compiler before any of the program's own.
    assertTrue(Proc.stat(ProcessHandle.current().pid()).orElseThrow().threads() > 2);
  }
}
