package dev.polis.curator;

import dev.polis.pki.NodeId;
import dev.polis.wire.api.Node.Health;
import dev.polis.wire.common.NodeState;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** When each node was last heard of. Memory of one leader; on a monotonic clock. Thread-safe. */
final class LeaderHeartbeats {

  /** Nodes send every 2.5 s at most; four missed beats are no accident any more. */
  static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final LongSupplier nanoTime;
  private final long leaderSince;
  private final Map<String, Long> lastBeats = new ConcurrentHashMap<>();

  LeaderHeartbeats(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.leaderSince = nanoTime.getAsLong();
  }

  void beat(NodeId node) {
    lastBeats.put(node.text(), nanoTime.getAsLong());
  }

  /** Returns how long ago the node was heard of; empty if never since this leader leads. */
  Optional<Duration> sinceLast(String node) {
    return Optional.ofNullable(lastBeats.get(node))
        .map(last -> Duration.ofNanos(nanoTime.getAsLong() - last));
  }

  /** Judges a node. A young leader has heard of nobody yet and says so instead of blaming nodes. */
  Health health(String node, NodeState state) {
    if (state != NodeState.NODE_STATE_UP) {
      return Health.HEALTH_UNKNOWN;
    }
    Optional<Duration> since = sinceLast(node);
    if (since.isPresent()) {
      return since.get().compareTo(TIMEOUT) > 0
          ? Health.HEALTH_HEARTBEAT_TIMEOUT
          : Health.HEALTH_HEALTHY;
    }
    Duration leading = Duration.ofNanos(nanoTime.getAsLong() - leaderSince);
    return leading.compareTo(TIMEOUT) > 0 ? Health.HEALTH_HEARTBEAT_TIMEOUT : Health.HEALTH_UNKNOWN;
  }

  void forget(String node) {
    lastBeats.remove(node);
  }
}
