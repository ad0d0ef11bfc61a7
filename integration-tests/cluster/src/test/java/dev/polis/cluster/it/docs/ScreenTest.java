package dev.polis.cluster.it.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ScreenTest {

  @Test
  @DisplayName("times, ids and addresses may differ, other words may not")
  void placeholders() {
    List<String> page =
        List.of("HOME after 3.6 s", "node metropolis-" + "9".repeat(32) + " at 127.0.0.1");
    assertTrue(
        Screen.matches(
            page,
            List.of("HOME after 12 s", "node metropolis-" + "a".repeat(32) + " at 127.92.1.4")));
    assertFalse(
        Screen.matches(
            page,
            List.of("HOME after 12 s", "node metropolis-" + "a".repeat(32) + " on 127.92.1.4")));
  }

  @Test
  @DisplayName("a missing, an added and an exchanged line are found")
  void lines() {
    List<String> page = List.of("one", "two");
    assertFalse(Screen.matches(page, List.of("one")));
    assertFalse(Screen.matches(page, List.of("one", "two", "three")));
    assertFalse(Screen.matches(page, List.of("two", "one")));
    assertTrue(Screen.matches(page, List.of("one", "two")));
  }

  @Test
  @DisplayName("an ellipsis stands for any lines, or for any text within one")
  void ellipsis() {
    assertTrue(Screen.matches(List.of("…", "end"), List.of("a", "b", "end")));
    assertTrue(Screen.matches(List.of("…", "end"), List.of("end")));
    assertFalse(Screen.matches(List.of("…", "end"), List.of("a", "b")));
    assertTrue(Screen.matches(List.of("from … to"), List.of("from here to")));
  }

  @Test
  @DisplayName("columns may be of any width")
  void columns() {
    assertTrue(Screen.matches(List.of("NODE ID      STATE"), List.of("NODE ID   STATE")));
    assertFalse(Screen.matches(List.of("NODE ID STATE"), List.of("NODEID STATE")));
  }

  @Test
  @DisplayName("a page is parsed into blocks with their conditions, and spans")
  void parsing() {
    Page page =
        Page.parse(
            "page.md",
            List.of(
                "Type `./polis up`.",
                "<!-- test: exit 3 -->",
                "```console",
                "$ false",
                "no",
                "```"));
    assertEquals(List.of(new Page.Span("./polis up", 1)), page.spans());
    Block block = page.blocks().getFirst();
    assertEquals(3, block.exitCode());
    assertEquals(List.of(new Block.Command("false", List.of("no"))), block.commands());
    assertThrows(AssertionError.class, () -> Page.parse("page.md", List.of("```sh", "true")));
  }

  @Test
  @DisplayName("an unknown command or option is found")
  void commands() {
    CommandCheck check = new CommandCheck("polis up [--detach]   start\n");
    assertTrue(check.fault("./polis up --detach   # once").isEmpty());
    assertTrue(check.fault("./polis up --attach").isPresent());
    assertTrue(check.fault("./polis fly").isPresent());
    assertTrue(check.fault("./polis ctl node list").isEmpty());
    assertTrue(check.fault("./polis ctl node fly").isPresent());
    assertTrue(check.fault("polisctl node list --colour").isPresent());
  }
}
