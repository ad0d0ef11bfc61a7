package dev.polis.base.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

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
  @DisplayName("lines are joined by one blank, without empty lines")
  void oneLine() {
    assertEquals("one two three", FailureText.oneLine("  one \r\n\n \ttwo\u2028three\n"));
    assertEquals("", FailureText.oneLine(" \n "));
  }
}
