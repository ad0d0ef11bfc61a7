package dev.polis.base.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class ChildrenTest {

  @Test
  void aProcessThatIsNoChildCannotBeReaped() {
    PosixException refused = assertThrows(PosixException.class, () -> Children.reap(1));
    assertEquals(Errno.ECHILD, refused.errno());
  }

  @Test
  void aChildThatRunsIsNeitherListedNorReaped() throws Exception {
    Process child = new ProcessBuilder("cat").start();
    try {
      assertFalse(Children.exited().contains(child.pid()));
      assertFalse(Children.reap(child.pid()));
    } finally {
      child.destroyForcibly().waitFor();
    }
    assertEquals(List.of(), Children.exited(), "the JDK reaps its own");
  }
}
