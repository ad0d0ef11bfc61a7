package dev.polis.curator.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.rpc.RpcException;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import io.grpc.Status;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Evaluates the filters that a member may send: harmless ones, and ones that cost too much. */
class NodeFilterTest {
  private static final Node NODE =
      Node.newBuilder()
          .setId("metropolis-00000000000000000000000000000001")
          .setState(NodeState.NODE_STATE_UP)
          .build();

  /** Longer than any filter takes on a busy machine: the budget is 2 s. */
  private static final Duration NEVER = Duration.ofSeconds(30);

  private static final String TEN = list(10);
  private static final String HUNDRED = list(100);

  private static String list(int length) {
    return "[" + String.join(",", Collections.nCopies(length, "1")) + "]";
  }

  private static String nested(int depth, String list) {
    StringBuilder filter = new StringBuilder();
    for (int level = 0; level < depth; level++) {
      filter.append(list).append(".all(x").append(level).append(", ");
    }
    return filter + "true" + ")".repeat(depth);
  }

  private static int picked(String filter) throws InterruptedException {
    return NodeFilter.compile(filter).pick(List.of(NODE)).size();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "node.state == NODE_STATE_UP",
        "node.id.matches('^metropolis-[0-9a-f]{32}$')",
        "node.id.startsWith('metro') && !has(node.roles.kubernetes_worker)",
        "['a', node.id].filter(x, x != 'a').map(x, x + '!').exists(x, x == node.id + '!')",
        "size({'a': node.id}) == 1 && (node.state == 1 ? false : true)"
      })
  @DisplayName("a cheap filter selects the matching nodes")
  void cheap(String filter) throws Exception {
    assertEquals(1, picked(filter));
  }

  @Test
  @DisplayName("a filter may name 300 nodes")
  void manyIds() throws Exception {
    String ids =
        String.join(",", Collections.nCopies(299, "'metropolis-ffffffffffffffffffffffffffffffff'"));
    assertEquals(1, picked("node.id in [" + ids + ",'" + NODE.getId() + "']"));
  }

  static Stream<Named<String>> dear() {
    String twice = ".map(x, x + x)";
    String pairs = ".map(x, [x, x])";
    String copies = ".map(x, [" + "x,".repeat(200) + "x])";
    return Stream.of(
        Named.of("nine loops of ten", nested(9, TEN)),
        Named.of("three loops of a hundred", nested(3, HUNDRED)),
        Named.of("a text that CEL would treat as true", nested(3, HUNDRED) + " || true"),
        Named.of(
            "an expression that CEL would evaluate ten times",
            TEN + ".exists(x, " + nested(3, HUNDRED) + ")"),
        Named.of("a text that grows", "size(['abcdefgh']" + twice.repeat(40) + "[0]) > 0"),
        Named.of(
            "a text that grows fast",
            "size(['abcdefgh'].map(x, "
                + "x + ".repeat(80)
                + "x)"
                + ".map(x, "
                + "x + ".repeat(80)
                + "x)[0]) > 0"),
        Named.of("a list that grows", "[1]" + pairs.repeat(30) + " == [1]" + pairs.repeat(30)),
        Named.of("a list that grows fast", "[1]" + copies.repeat(3) + " == [1]" + copies.repeat(3)),
        Named.of("a type that grows", "size([1]" + ".map(x, {x: x})".repeat(20) + ") == 1"),
        Named.of("many maps", "size([" + "{1: 1},".repeat(5) + "{1: 1}]) == 1"),
        Named.of("a pattern of a million parts", "node.id.matches('((a{1000}){1000})')"),
        Named.of("a pattern of a milliard parts", "node.id.matches('((a{1000}){1000}){1000}')"),
        Named.of("a pattern that is computed", "node.id.matches('(a{10' + '00})')"),
        Named.of("a long pattern", "node.id.matches('" + "(a?)".repeat(3000) + "')"),
        Named.of(
            "a long search, many times",
            "['"
                + "a".repeat(7800)
                + "'].all(x, "
                + "!(x + x).contains(x + 'b') && ".repeat(80)
                + "true)"),
        Named.of("many lists", "size([" + "[],".repeat(5000) + "[]]) > 0"),
        Named.of("many values", "node.id in [" + "'x',".repeat(3000) + "'x']"),
        Named.of("deep brackets", "(".repeat(8000) + "true" + ")".repeat(8000)),
        Named.of("deep lists", "[".repeat(8000) + "]".repeat(8000) + " == []"));
  }

  @ParameterizedTest
  @MethodSource
  @Tag("attack")
  @DisplayName(
      "a filter that costs too much ends with a message that names the cause and the remedy")
  void dear(String filter) {
    assertTimeoutPreemptively(
        NEVER,
        () -> {
          RpcException refused = assertThrows(RpcException.class, () -> picked(filter));
          assertEquals(Status.Code.INVALID_ARGUMENT, refused.code());
          String message = refused.getMessage();
          assertTrue(message.contains("\" is too expensive: "), message);
          assertTrue(message.contains("; "), message);
        });
  }

  @Test
  @DisplayName("the time limit holds for the whole list, not for each node")
  void timeOfTheList() {
    String second =
        "['"
            + "a".repeat(7800)
            + "'].all(x, "
            + "!(x + x).contains(x + 'b') && ".repeat(2)
            + "true)";
    assertTimeoutPreemptively(
        NEVER,
        () -> {
          RpcException refused =
              assertThrows(
                  RpcException.class,
                  () -> NodeFilter.compile(second).pick(Collections.nCopies(1000, NODE)));
          assertTrue(refused.getMessage().contains("for all nodes"), refused.getMessage());
        });
  }

  @Test
  @DisplayName("an interrupted filter ends early")
  void interrupted() {
    assertTimeoutPreemptively(
        NEVER,
        () -> {
          NodeFilter filter = NodeFilter.compile(nested(3, HUNDRED) + " || true");
          Thread.currentThread().interrupt();
          assertThrows(InterruptedException.class, () -> filter.pick(List.of(NODE)));
        });
  }
}
