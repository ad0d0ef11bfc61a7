package dev.polis.curator.record;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.curator.record.HeartbeatMonitor.NodeProcess;
import dev.polis.pki.NodeId;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class HeartbeatMonitorTest {

  private static final NodeId NODE = NodeId.parse("metropolis-" + "a".repeat(32));
  private static final NodeProcess ORIGINAL = new NodeProcess("7@1", "192.0.2.1");
  private static final NodeProcess COPY = new NodeProcess("9@2", "192.0.2.9");

  private Duration now = Duration.ZERO;
  private final HeartbeatMonitor monitor = new HeartbeatMonitor(() -> now.toNanos());

  private Optional<String> beat(NodeProcess sender) {
    now = now.plusMillis(1250);
    return monitor.record(NODE, sender);
  }

  @Test
  @DisplayName(
      "two processes with one node id learn of each other's address while both send heartbeats")
  void twice() {
    assertEquals(Optional.empty(), beat(ORIGINAL));
    assertEquals(Optional.empty(), beat(COPY), "it may be a restart");
    assertEquals(Optional.of("192.0.2.9"), beat(ORIGINAL));
    assertEquals(Optional.of("192.0.2.1"), beat(COPY));
    assertEquals(Optional.of("192.0.2.1"), beat(COPY), "the other one is late");

    now = now.plus(HeartbeatMonitor.TIMEOUT);
    assertEquals(Optional.empty(), beat(COPY), "the other one has ended");
  }

  @Test
  @DisplayName("the monitor of another instance of the leader knows both processes at once")
  void handedOver() {
    beat(ORIGINAL);
    beat(COPY);
    beat(ORIGINAL);
    HeartbeatMonitor next =
        new HeartbeatMonitor(
            () -> now.toNanos(), monitor.leaderSince(), monitor.heard(), monitor.processes());
    assertEquals(Optional.of("192.0.2.1"), next.record(NODE, COPY));
    assertEquals(Optional.of("192.0.2.9"), next.record(NODE, ORIGINAL));
  }

  @Test
  @DisplayName("a node that restarts at another address again and again is one node")
  void restarts() {
    for (int start = 0; start < 40; start++) {
      NodeProcess next = new NodeProcess("7@" + start, "192.0.2." + start);
      assertEquals(Optional.empty(), beat(next));
      assertEquals(Optional.empty(), beat(next));
    }
  }

  @Test
  @DisplayName("a node of a version that gives no name is never taken for two")
  void unnamed() {
    NodeProcess old = new NodeProcess("", "");
    assertEquals(Optional.empty(), beat(old));
    assertEquals(Optional.empty(), beat(ORIGINAL));
    assertEquals(Optional.empty(), beat(old));
    assertEquals(Optional.empty(), beat(ORIGINAL));
  }
}
