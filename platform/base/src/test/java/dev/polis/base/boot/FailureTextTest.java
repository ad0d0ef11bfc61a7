package dev.polis.base.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class FailureTextTest {
  @Test
  @DisplayName("a long text is cut once, between two characters")
  void shortened() {
    String fits = "x".repeat(2000);
    assertSame(fits, FailureText.shortened(fits));
    String cut = FailureText.shortened(fits + "x");
    assertEquals("x".repeat(1999) + "…", cut);
    assertSame(cut, FailureText.shortened(cut));
    assertEquals("x".repeat(1998) + "…", FailureText.shortened("x".repeat(1998) + "😀😀"));
  }

  @Test
  @DisplayName("of causes without an end, in a circle or made anew at each call, a hundred count")
  void causes() {
    IllegalStateException inner = new IllegalStateException("inner");
    IllegalStateException outer = new IllegalStateException("outer", inner);
    assertEquals(List.of(outer, inner), FailureText.causes(outer));
    inner.initCause(outer);
    assertEquals(100, FailureText.causes(outer).size());
    assertEquals(100, FailureText.causes(new Endless()).size());
  }

  /** Makes a new cause at each call. */
  private static final class Endless extends Exception {
    private static final long serialVersionUID = 1;

    @Override
    public synchronized Throwable getCause() {
      return new Endless();
    }
  }

  @Test
  @DisplayName("lines are joined by one blank, without empty lines")
  void oneLine() {
    assertEquals("one two three", FailureText.oneLine("  one \r\n\n \ttwo\u2028three\n"));
    assertEquals("", FailureText.oneLine(" \n "));
  }
}
