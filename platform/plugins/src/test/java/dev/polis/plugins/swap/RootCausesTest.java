package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class RootCausesTest {

  @Test
  @DisplayName("The innermost cause is described, with its type if its message is no sentence")
  void innermost() {
    assertEquals(
        "the port is taken",
        RootCauses.of(new RuntimeException("x", new RuntimeException("the port is taken"))));
    assertEquals(
        "java.lang.RuntimeException: /x",
        RootCauses.of(new IllegalStateException("y", new RuntimeException("/x"))));
  }

  @Test
  @Timeout(60)
  @DisplayName("A failure that makes a new cause at each call is described too")
  void endless() {
    assertEquals("there is one more below", RootCauses.of(new Endless()));
  }

  /** Makes a new cause at each call. */
  private static final class Endless extends RuntimeException {
    private static final long serialVersionUID = 1;

    Endless() {
      super("there is one more below");
    }

    @Override
    public synchronized Throwable getCause() {
      return new Endless();
    }
  }
}
