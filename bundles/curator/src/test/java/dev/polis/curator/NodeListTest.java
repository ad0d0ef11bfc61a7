package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeState;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Lists the nodes of small and large clusters, which different threads do. */
class NodeListTest {

  /** More records than the thread that reads the request lists itself. */
  private static final int MANY = 200;

  private CuratorFixture fixture;
  private ManagementBlockingV2Stub owner;

  @BeforeEach
  void start() throws Exception {
    fixture = CuratorFixture.leading();
    owner = fixture.management();
  }

  @AfterEach
  void stop() throws Exception {
    fixture.close();
  }

  private static List<String> ids(List<Node> nodes) {
    return nodes.stream().map(Node::getId).toList();
  }

  @Test
  @DisplayName("few and many nodes are listed alike: all stored nodes, in order")
  void fewAndMany() throws Exception {
    TreeSet<String> stored = new TreeSet<>(List.of(fixture.id.text()));
    assertEquals(List.copyOf(stored), ids(CuratorFixture.nodes(owner, "")));
    Map<String, dev.polis.wire.curator.stored.Node.Builder> nodes = new LinkedHashMap<>();
    for (int number = 0; number < MANY; number++) {
      nodes.put(
          "metropolis-%032x".formatted(number),
          dev.polis.wire.curator.stored.Node.newBuilder().setFsmState(NodeState.NODE_STATE_NEW));
    }
    fixture.storeAll(nodes);
    stored.addAll(nodes.keySet());
    assertEquals(List.copyOf(stored), ids(CuratorFixture.nodes(owner, "")));
    stored.remove(fixture.id.text());
    assertEquals(
        List.copyOf(stored),
        ids(CuratorFixture.nodes(owner, "node.state == NODE_STATE_NEW")),
        "with a filter");
  }
}
