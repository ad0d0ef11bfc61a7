package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ComponentFailureTest {

  @Test
  @DisplayName("A component's failure quotes the cause that Polis names, which has the remedy")
  void givenOurCauseAboveTheSystems_thenOurs() {
    assertEquals(
        "cannot list /x: /x is a link to /y, which is not there; make it",
        failure(
                """
                java.lang.reflect.InvocationTargetException
                \tat java.base/Accessor.newInstance(Accessor.java:74)
                Caused by: dev.polis.files.FileException: cannot list /x: /x is a link to /y, which is not there; make it
                \tat dev.polis.files.DiskTrouble.failed(DiskTrouble.java:127)
                \t... 34 more
                Caused by: java.nio.file.NoSuchFileException: /x
                \tat java.base/sun.nio.fs.UnixException.translate(UnixException.java:92)
                """)
            .getMessage());
  }

  @Test
  @DisplayName("A failure without a cause that Polis names quotes the innermost cause")
  void givenNoCauseOfOurs_thenTheInnermost() {
    assertEquals(
        "no room left for it",
        failure(
                """
                java.io.IOException: outer words
                \tat A.b(A.java:1)
                Caused by: java.io.IOException: no room
                  left for it
                \tat A.c(A.java:2)
                """)
            .getMessage());
  }

  private static ComponentFailure failure(String trace) {
    return new ComponentFailure("storage", "Storage", trace);
  }
}
