package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Holds the changes of a single writer, by revision: a model of etcd from the answers to the writes
 * only, so that no watch is checked against another watch.
 */
final class WatchHistory {

  static final int KEYS = 12;

  private static final int PUTS_IN_TEN = 6;
  private static final int DELETES_IN_TEN = 2;

  private final KeyValues kv;
  private final Random random;
  private final NavigableMap<Long, List<WatchEvent>> revisions = new TreeMap<>();
  private final NavigableMap<Long, Map<String, KeyValue>> states = new TreeMap<>();
  private final Map<String, KeyValue> state = new TreeMap<>();

  /** Held while a write is under way. */
  final ReentrantLock writing = new ReentrantLock();

  private long last;
  private long compacted;
  private int count;

  WatchHistory(KeyValues kv, long revision, Random random) {
    this.kv = kv;
    this.random = random;
    this.last = revision;
    remember(revision);
  }

  /** Makes one random write: a put, a delete, or a transaction of several. */
  void write() throws InterruptedException {
    writing.lockInterruptibly();
    try {
      int kind = random.nextInt(10);
      if (kind < PUTS_IN_TEN) {
        apply(List.of(randomPut(randomKey())));
      } else if (kind < PUTS_IN_TEN + DELETES_IN_TEN) {
        apply(List.of(Op.delete(randomKey())));
      } else {
        apply(randomTransaction());
      }
    } finally {
      writing.unlock();
    }
  }

  /** Writes the last event of the history to every key. */
  long finish() throws InterruptedException {
    writing.lockInterruptibly();
    try {
      List<Op> all = new ArrayList<>();
      for (int n = 0; n < KEYS; n++) {
        all.add(randomPut(key(n)));
      }
      apply(all);
      // Filters may hide puts, so it ends with both kinds.
      List<Op> deletes = new ArrayList<>();
      for (int n = 0; n < KEYS; n++) {
        deletes.add(Op.delete(key(n)));
      }
      apply(deletes);
      List<Op> again = new ArrayList<>();
      for (int n = 0; n < KEYS; n++) {
        again.add(randomPut(key(n)));
      }
      apply(again);
      return last;
    } finally {
      writing.unlock();
    }
  }

  private List<Op> randomTransaction() {
    Map<String, Op> ops = new LinkedHashMap<>();
    for (int n = 2 + random.nextInt(4); n > 0; n--) {
      String key = randomKey();
      ops.put(key, random.nextInt(4) == 0 ? Op.delete(key) : randomPut(key));
    }
    return List.copyOf(ops.values());
  }

  private Op randomPut(String key) {
    return Op.put(key, ("value " + count++).getBytes(UTF_8));
  }

  private String randomKey() {
    return key(random.nextInt(KEYS));
  }

  static String key(int n) {
    return "key/" + (char) ('a' + n);
  }

  private void apply(List<Op> ops) throws InterruptedException {
    long revision = kv.txn().then(ops.toArray(Op[]::new)).commit().revision();
    List<WatchEvent> events = new ArrayList<>();
    for (Op op : ops) {
      switch (op) {
        case Op.Put put -> events.add(put(put, revision));
        case Op.Delete(KeyRange.Single(String key)) ->
            Optional.ofNullable(state.remove(key))
                .ifPresent(before -> events.add(deletion(before, revision)));
        default -> throw new IllegalStateException("the history makes no " + op);
      }
    }
    last = revision;
    if (!events.isEmpty()) {
      revisions.put(revision, events);
      remember(revision);
    }
  }

  private WatchEvent put(Op.Put put, long revision) {
    Optional<KeyValue> before = Optional.ofNullable(state.get(put.key()));
    KeyValue now =
        new KeyValue(
            put.key(),
            put.value(),
            before.map(KeyValue::createRevision).orElse(revision),
            revision,
            before.map(KeyValue::version).orElse(0L) + 1,
            0);
    state.put(put.key(), now);
    return new WatchEvent(WatchEvent.Type.PUT, now, before.orElse(null));
  }

  private static WatchEvent deletion(KeyValue before, long revision) {
    KeyValue now = new KeyValue(before.key(), new byte[0], 0, revision, 0, 0);
    return new WatchEvent(WatchEvent.Type.DELETE, now, before);
  }

  private void remember(long revision) {
    states.put(revision, Map.copyOf(state));
  }

  /** Compacts the whole history so far, between two writes. */
  void compact(EtcdAdmin admin) throws InterruptedException {
    writing.lockInterruptibly();
    try {
      admin.compact(last);
      compacted = last;
    } finally {
      writing.unlock();
    }
  }

  long compacted() {
    return compacted;
  }

  long last() {
    return last;
  }

  /** Returns all events after a revision, by revision. */
  NavigableMap<Long, List<WatchEvent>> after(long revision) {
    return revisions.tailMap(revision, false);
  }

  /** Returns all keys as of a revision. */
  Collection<KeyValue> at(long revision) {
    return states.floorEntry(revision).getValue().values();
  }

  int size() {
    return revisions.values().stream().mapToInt(List::size).sum();
  }
}
