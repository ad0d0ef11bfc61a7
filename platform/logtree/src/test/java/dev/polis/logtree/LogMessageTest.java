package dev.polis.logtree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LogMessageTest {
  @Test
  @DisplayName("without arguments the format is the message")
  void withoutArguments() {
    assertEquals("100% of %s", LogMessage.format("100% of %s"));
  }

  @Test
  @DisplayName("messages are those of String.format")
  void likeStringFormat() {
    Object[][] cases = {
      {"%s and %s", "a", 1},
      {"%d%% of %s%n", 50, "it"},
      {"%5d|%-5s|%05.1f|%x|%b|%c", 7, "ab", 1.25, 255, true, 'c'},
      {"%2$s before %1$s", "a", "b"},
      {"%s", "one of", "two"},
      {"%,d", 1_234_567L},
    };
    for (Object[] given : cases) {
      Object[] arguments = java.util.Arrays.copyOfRange(given, 1, given.length);
      assertEquals(
          String.format(Locale.ROOT, (String) given[0], arguments).replace("\r\n", "\n"),
          LogMessage.format((String) given[0], arguments));
    }
    assertEquals(
        "null none some",
        LogMessage.format("%s %s %s", null, Optional.empty(), Optional.of("some")));
  }

  @Test
  @DisplayName("a bad format, or an argument whose toString fails, is logged, not thrown")
  void neverThrows() {
    Object bomb =
        new Object() {
          @Override
          public String toString() {
            throw new IllegalStateException("boom");
          }
        };

    assertTrue(LogMessage.format("%s %s", "a").contains("arguments: [a]"));
    assertTrue(LogMessage.format("%d", "a").startsWith("%d (bad format: d != java.lang.String"));
    assertTrue(LogMessage.format("%", "a").contains("arguments: [a]"));
    assertTrue(
        LogMessage.format("it is %s", bomb)
            .endsWith("whose toString failed: " + "java.lang.IllegalStateException: boom>"));
    assertTrue(LogMessage.format("it is %9s", bomb).contains("boom"));
    RuntimeException unprintable =
        new RuntimeException() {
          private static final long serialVersionUID = 1;

          @Override
          public String getMessage() {
            throw new IllegalStateException("boom");
          }
        };
    assertTrue(LogMessage.format("failed", unprintable).contains("stack trace of"));
    assertEquals("null", LogMessage.format(null));
    assertEquals("null", LogMessage.format(null, "a"));
  }

  @Test
  @DisplayName("a throwable without a placeholder adds its stack trace")
  void stackTraceFollows() {
    Throwable cause = new IllegalStateException("outer", new RuntimeException("inner"));

    String with = LogMessage.format("failed: %s", "mount", cause);
    String padded = LogMessage.format("failed: %9s", "mount", cause);
    String without = LogMessage.format("failed: %s", cause);

    assertTrue(
        with.startsWith("failed: mount\njava.lang.IllegalStateException: outer\n\tat "), with);
    assertTrue(with.contains("Caused by: java.lang.RuntimeException: inner"), with);
    assertTrue(padded.contains("Caused by: java.lang.RuntimeException: inner"), padded);
    assertEquals("failed: java.lang.IllegalStateException: outer", without);
  }
}
