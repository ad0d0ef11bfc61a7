package dev.polis.supervision;

import dev.polis.fixtures.Await;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;

/**
 * Tells a time that stands still until the test moves it. Alarms run on the thread that moves it.
 */
final class ManualTimer implements Timer {
  private record Due(long nanos, long order) implements Comparable<Due> {
    @Override
    public int compareTo(Due other) {
      return nanos != other.nanos
          ? Long.compare(nanos, other.nanos)
          : Long.compare(order, other.order);
    }
  }

  private final TreeMap<Due, Runnable> alarms = new TreeMap<>();
  private long now;
  private long made;

  @Override
  public synchronized long nanos() {
    return now;
  }

  @Override
  public synchronized Instant time() {
    return Instant.EPOCH.plusNanos(now);
  }

  @Override
  public synchronized Alarm schedule(long delayNanos, Runnable action) {
    Due due = new Due(now + delayNanos, made++);
    alarms.put(due, action);
    return () -> cancel(due);
  }

  private synchronized void cancel(Due due) {
    alarms.remove(due);
  }

  synchronized int pending() {
    return alarms.size();
  }

  void awaitPending(int wanted, String what) throws Exception {
    Await.until(what, () -> pending() == wanted, () -> pending() + " alarms");
  }

  void advance(Duration by) {
    long until = nanos() + by.toNanos();
    while (true) {
      Runnable action;
      synchronized (this) {
        Map.Entry<Due, Runnable> first = alarms.firstEntry();
        if (first == null || first.getKey().nanos() > until) {
          now = until;
          return;
        }
        now = Math.max(now, first.getKey().nanos());
        alarms.remove(first.getKey());
        action = first.getValue();
      }
      action.run();
    }
  }

  @Override
  public synchronized void close() {
    alarms.clear();
  }
}
