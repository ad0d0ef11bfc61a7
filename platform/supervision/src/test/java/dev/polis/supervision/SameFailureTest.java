package dev.polis.supervision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.Severity;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class SameFailureTest {

  private final SameFailure same = new SameFailure();

  @Test
  @DisplayName("a failure that comes again and again is shown ever more rarely, with its number")
  void rarely() {
    List<Integer> shown =
        IntStream.rangeClosed(1, 100)
            .filter(_ -> same.next("no programs").isPresent())
            .boxed()
            .toList();
    assertEquals(List.of(1, 2, 4, 8, 16, 32, 64), shown);
  }

  @Test
  @DisplayName("another failure, and one after work, is shown at once")
  void another() {
    assertEquals(Optional.of(""), same.next("no programs"));
    assertTrue(same.next("no programs").orElseThrow().contains("2 times in a row"));
    assertEquals(Optional.empty(), same.next("no programs"));
    assertEquals(Optional.of(""), same.next("no address"));
    same.reset();
    assertEquals(Optional.of(""), same.next("no address"));
  }

  @Test
  @DisplayName("the log of a runnable that fails at each start does not grow with each of them")
  void inTheTree() throws Exception {
    try (Supervised world = new Supervised()) {
      world
          .tree
          .organ("foo")
          .run(
              "broken",
              _ -> {
                throw new IOException("no programs");
              });
      world.await("root.foo.broken", at -> at.restarts() >= 3, "three restarts");
      List<String> logged = world.logged("root.foo.broken", Severity.FATAL);
      assertTrue(logged.size() < 4, logged::toString);
      assertTrue(logged.get(1).contains("2 times in a row"), logged::toString);
    }
  }
}
