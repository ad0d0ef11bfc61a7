package dev.polis.curator.record;

import dev.polis.pki.NodeId;
import dev.polis.wire.api.Node.Health;
import dev.polis.wire.common.NodeState;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Remembers each node's last heartbeat to this leader, and derives the node's health. It uses a
 * monotonic clock. Thread-safe.
 */
public final class HeartbeatMonitor {

  /**
   * The age from which a heartbeat counts as missing: nodes send every 2.5 s, and four missed ones
   * are no accident.
   */
  static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final LongSupplier nanoTime;
  private final long leaderSince;
  private final Map<String, Long> lastHeartbeats = new ConcurrentHashMap<>();
  private final Map<String, Senders> senders = new ConcurrentHashMap<>();

  public HeartbeatMonitor(LongSupplier nanoTime) {
    this(nanoTime, nanoTime.getAsLong(), Map.of(), Map.of());
  }

  /**
   * Creates a monitor with the heartbeats of another one on the same clock.
   *
   * @param processes what the other's {@link #processes} returned
   */
  public HeartbeatMonitor(
      LongSupplier nanoTime,
      long leaderSince,
      Map<String, Long> heard,
      Map<String, List<String>> processes) {
    this.nanoTime = nanoTime;
    this.leaderSince = leaderSince;
    lastHeartbeats.putAll(heard);
    processes.forEach((node, known) -> senders.put(node, new Senders(known)));
  }

  /** Returns the time since which this leader listens. */
  public long leaderSince() {
    return leaderSince;
  }

  /** Returns the time of the last heartbeat of each node. */
  public Map<String, Long> heard() {
    return Map.copyOf(lastHeartbeats);
  }

  /** Returns the processes of each node, for a monitor of another instance. */
  public Map<String, List<String>> processes() {
    return senders.entrySet().stream()
        .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, each -> each.getValue().give()));
  }

  /**
   * Records a heartbeat.
   *
   * @param sender the sending process
   * @return the address of another process that sends heartbeats of the same node now; empty if
   *     there is none
   */
  public Optional<String> record(NodeId node, NodeProcess sender) {
    long now = nanoTime.getAsLong();
    lastHeartbeats.put(node.text(), now);
    return sender.name().isEmpty()
        ? Optional.empty()
        : senders.computeIfAbsent(node.text(), _ -> new Senders()).heard(sender, now);
  }

  /**
   * Names a process that sends heartbeats.
   *
   * @param name a name that no other process has; empty if its version gives none
   * @param address its address
   */
  public record NodeProcess(String name, String address) {}

  /**
   * Distinguishes a node that has restarted from one that runs twice: after a restart the former
   * process is silent.
   */
  private static final class Senders {

    /** The remembered names of former processes, which only a node that restarts often exceeds. */
    private static final int MOST = 16;

    /** The number of values before the former names in a given list. */
    private static final int FIRST_FORMER = 5;

    private static final NodeProcess NONE = new NodeProcess("", "");

    private final Set<String> former = new LinkedHashSet<>();
    private NodeProcess last = NONE;
    private NodeProcess other = NONE; // the process before
    private long both; // the time at which a former process was heard again, if there is another

    Senders() {}

    /** Takes what another one gave. */
    Senders(List<String> given) {
      last = new NodeProcess(given.get(0), given.get(1));
      other = new NodeProcess(given.get(2), given.get(3));
      both = Long.parseLong(given.get(4));
      former.addAll(given.subList(FIRST_FORMER, given.size()));
    }

    /** Returns all values as types of the JDK, which another version of this class can read. */
    synchronized List<String> give() {
      return Stream.concat(
              Stream.of(
                  last.name(), last.address(), other.name(), other.address(), Long.toString(both)),
              former.stream())
          .toList();
    }

    synchronized Optional<String> heard(NodeProcess sender, long now) {
      if (!last.equals(NONE) && !last.name().equals(sender.name())) {
        other = last;
        if (former.contains(sender.name())) {
          both = now;
        } else {
          both = now - TIMEOUT.toNanos();
        }
        if (former.size() == MOST) {
          former.remove(former.iterator().next());
        }
        former.add(last.name());
      }
      last = sender;
      return !other.equals(NONE) && now - both < TIMEOUT.toNanos()
          ? Optional.of(other.address())
          : Optional.empty();
    }
  }

  /** Returns the age of the node's last heartbeat; empty if this leader has received none. */
  Optional<Duration> sinceLast(String node) {
    return Optional.ofNullable(lastHeartbeats.get(node)).map(this::since);
  }

  /** Returns the health of a node; unknown while this leader is too new to expect a heartbeat. */
  Health health(String node, NodeState state) {
    if (state != NodeState.NODE_STATE_UP) {
      return Health.HEALTH_UNKNOWN;
    }
    Optional<Duration> silence = sinceLast(node);
    if (silence.isPresent()) {
      return isTimeout(silence.get()) ? Health.HEALTH_HEARTBEAT_TIMEOUT : Health.HEALTH_HEALTHY;
    }
    return isTimeout(since(leaderSince)) ? Health.HEALTH_HEARTBEAT_TIMEOUT : Health.HEALTH_UNKNOWN;
  }

  private Duration since(long nanos) {
    return Duration.ofNanos(nanoTime.getAsLong() - nanos);
  }

  private static boolean isTimeout(Duration silence) {
    return silence.compareTo(TIMEOUT) > 0;
  }
}
