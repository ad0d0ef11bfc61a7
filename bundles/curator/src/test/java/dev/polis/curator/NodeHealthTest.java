package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.Node.Health;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Moves the monotonic clock of a leader and asks it for the health of nodes. */
@Timeout(120)
class NodeHealthTest {

  private static final String NEW_NODE = "metropolis-" + "0".repeat(31) + "1";

  private final AtomicLong nanos = new AtomicLong();
  private CuratorFixture fixture;
  private ManagementBlockingV2Stub owner;
  private CuratorBlockingV2Stub node;

  @BeforeEach
  void start() throws Exception {
    fixture = CuratorFixture.leading(nanos::get);
    owner = fixture.management();
    node = CuratorGrpc.newBlockingV2Stub(fixture.asNode());
    fixture.store(
        NEW_NODE,
        dev.polis.wire.curator.stored.Node.newBuilder().setFsmState(NodeState.NODE_STATE_NEW));
  }

  @AfterEach
  void stop() throws Exception {
    fixture.close();
  }

  private void advance(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private Node listed(String id) throws Exception {
    return CuratorFixture.nodes(owner, "node.id == '" + id + "'").getFirst();
  }

  private void assertHealth(Health expected) throws Exception {
    assertEquals(expected, listed(fixture.id.text()).getHealth());
    assertEquals(Health.HEALTH_UNKNOWN, listed(NEW_NODE).getHealth(), "a NEW node is not judged");
  }

  @Test
  @DisplayName("CUR-08 health under a fresh leader, within 10 s of each heartbeat, and after that")
  void cur08_health() throws Exception {
    assertHealth(Health.HEALTH_UNKNOWN);
    assertFalse(listed(fixture.id.text()).hasTimeSinceHeartbeat(), "there was no heartbeat");
    advance(Duration.ofSeconds(10));
    assertHealth(Health.HEALTH_UNKNOWN);
    advance(Duration.ofMillis(1));
    assertHealth(Health.HEALTH_HEARTBEAT_TIMEOUT);
    for (int heartbeat = 0; heartbeat < 3; heartbeat++) {
      CuratorFixture.heartbeat(node);
      assertHealth(Health.HEALTH_HEALTHY);
      advance(Duration.ofSeconds(10));
      assertHealth(Health.HEALTH_HEALTHY);
    }
    advance(Duration.ofMillis(1));
    assertHealth(Health.HEALTH_HEARTBEAT_TIMEOUT);
    assertFalse(listed(NEW_NODE).hasTimeSinceHeartbeat(), "only its own heartbeats count");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      delimiter = '|',
      textBlock =
          """
          ``                                                                                            | 2
          node.state == NODE_STATE_UP                                                                   | 1
          node.state == NODE_STATE_NEW                                                                  | 1
          node.state == NODE_STATE_STANDBY                                                              | 0
          node.state == NODE_STATE_UP && node.health == HEALTH_HEALTHY                                  | 1
          has(node.roles.consensus_member)                                                              | 1
          has(node.roles.kubernetes_worker)                                                             | 0
          node.time_since_heartbeat < duration('6s') && node.time_since_heartbeat > duration('4s')      | 1
          node.time_since_heartbeat > duration('7s')                                                    | 0
          node.time_since_heartbeat == duration('5s')                                                   | 1
          """)
  @DisplayName("CUR-10 a filter selects nodes by state, health, roles and age of the heartbeat")
  void cur10_filter(String filter, int selected) throws Exception {
    CuratorFixture.heartbeat(node);
    advance(Duration.ofSeconds(5));
    List<Node> nodes = CuratorFixture.nodes(owner, filter == null ? "" : filter);
    assertEquals(selected, nodes.size(), nodes.toString());
  }
}
