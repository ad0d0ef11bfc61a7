package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ThreadPriorityTest {
  /** The number of columns of /proc/thread-self/stat from the name to the niceness. */
  private static final int NICE = 17;

  private static int nice() throws Exception {
    String stat = Files.readString(Path.of("/proc/thread-self/stat"));
    return Integer.parseInt(stat.substring(stat.lastIndexOf(')') + 1).split(" ")[NICE]);
  }

  @Test
  @DisplayName("only the calling thread's priority is lowered")
  void thisThreadAlone() throws Exception {
    int before = nice();
    FutureTask<Integer> lowered =
        new FutureTask<>(
            () -> {
              ThreadPriority.lower(before + 3);
              return nice();
            });
    Thread.ofPlatform().start(lowered);
    assertEquals(before + 3, lowered.get());
    assertEquals(before, nice());
  }

  @Test
  void aHigherPriorityIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> ThreadPriority.lower(0));
    assertThrows(IllegalArgumentException.class, () -> ThreadPriority.lower(20));
  }
}
