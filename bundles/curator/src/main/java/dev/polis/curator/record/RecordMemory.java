package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.WatchEvent;
import dev.polis.etcd.WatchUpdate;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Keeps the cluster's records in memory while this node leads. It has three sources: listings of
 * all records, a watch of etcd, and the writes of this leader. Thread-safe.
 *
 * <p>etcd has committed each state in it, and no record returns to an older state: the memory
 * ignores a listing or a change that is older than the known state. All readers and watches get
 * records from here, so that a watch shows nothing that a read does not show yet.
 */
public final class RecordMemory {

  /** Receives each change of records. */
  public interface Listener {
    /**
     * Handles a change. It runs under the memory's lock, so it neither blocks nor calls the memory.
     *
     * @param now all records after the change
     * @param keys the keys of the changed records
     */
    void changed(RecordSnapshot now, Set<String> keys);
  }

  private final Consumer<String> damages;
  private volatile RecordSnapshot now = RecordSnapshot.EMPTY;

  // Guarded by this.
  private Listener listener = (snapshot, keys) -> {};
  // The memory knows each change up to and including this revision.
  private long complete;
  // By key: own writes after that revision, which the watch will report again.
  private final Map<String, Long> ahead = new HashMap<>();

  // The number of doubts about the memory, and the last one that a listing has resolved.
  private volatile long distrusts;
  private volatile long listed = -1;

  /**
   * Creates an empty memory.
   *
   * @param damages receives a message for each unreadable record, once for each state
   */
  public RecordMemory(Consumer<String> damages) {
    this.damages = damages;
  }

  /** Calls a listener at each change from now on, and first with the known records. */
  public synchronized void listen(Listener next) {
    Listener before = listener;
    listener =
        (snapshot, keys) -> {
          before.changed(snapshot, keys);
          next.changed(snapshot, keys);
        };
    next.changed(now, now.keys());
  }

  /** Returns the known records. */
  public RecordSnapshot now() {
    return now;
  }

  /**
   * Returns whether all records are current. A reader that relies on that must call this after
   * {@link #now}.
   */
  boolean isCurrent() {
    return listed == distrusts;
  }

  /** Marks the records as possibly old, until a listing that begins later. */
  synchronized void distrust() {
    distrusts++;
  }

  /** Returns a mark of this moment for {@link #replace} with a listing that begins now. */
  public long mark() {
    return distrusts;
  }

  /**
   * Adds a listing of all records, unless it is older than the memory.
   *
   * @param mark a mark from before the listing began
   * @param revision etcd's revision of the listing
   * @return the records afterwards
   */
  public synchronized RecordSnapshot replace(long mark, long revision, List<KeyValue> keys) {
    if (revision > complete) {
      Map<String, KeyValue> found = new HashMap<>();
      keys.forEach(stored -> found.put(stored.key(), stored));
      Set<String> gone = new HashSet<>(now.keys());
      gone.removeAll(found.keySet());
      Map<String, RecordState> changes = new HashMap<>();
      gone.forEach(key -> note(changes, key, revision, new RecordState.Absent()));
      found.values().forEach(stored -> note(changes, stored));
      passed(revision);
      apply(changes);
      if (now.version() == RecordSnapshot.EMPTY.version()) {
        // A listing without records differs from none.
        now = new RecordSnapshot(now.version() + 1, now.copyOfStates());
      }
    }
    listed = Math.max(listed, mark);
    return now;
  }

  /** Adds the events of the watch of all records. */
  synchronized void watched(WatchUpdate update) {
    if (update.revision() <= complete) {
      return;
    }
    switch (update) {
      case WatchUpdate.Snapshot snapshot ->
          // A watch does not fill an empty memory, and does not tell the outcome of an unknown
          // write.
          replace(0, snapshot.revision(), snapshot.keys());
      case WatchUpdate.Changes changes -> {
        Map<String, RecordState> states = new HashMap<>();
        changes.events().forEach(event -> note(states, event, changes.revision()));
        passed(changes.revision());
        apply(states);
      }
      case WatchUpdate.Progress progress -> passed(progress.revision());
    }
  }

  /**
   * Adds the writes of this leader. The transaction has compared the revision of each record, so
   * memory misses no change of them.
   */
  synchronized void wrote(long revision, Map<String, Optional<MessageLite>> records) {
    Map<String, RecordState> changes = new HashMap<>();
    records.forEach(
        (key, record) -> {
          if (revision > complete) {
            changes.put(
                key,
                record
                    .<RecordState>map(written -> new RecordState.Present(revision, written))
                    .orElseGet(RecordState.Absent::new));
            ahead.put(key, revision);
          }
        });
    apply(changes);
  }

  private void note(Map<String, RecordState> changes, WatchEvent event, long revision) {
    if (event.type() == WatchEvent.Type.PUT) {
      note(changes, event.kv());
    } else {
      note(changes, event.key(), revision, new RecordState.Absent());
    }
  }

  private void note(Map<String, RecordState> changes, KeyValue stored) {
    if (now.state(stored.key()).revision() != stored.modRevision()) {
      RecordState.of(stored)
          .ifPresent(state -> note(changes, stored.key(), stored.modRevision(), state));
    }
  }

  /** Adds a change, unless a later own write of the record is known. */
  private void note(
      Map<String, RecordState> changes, String key, long revision, RecordState state) {
    if (revision > ahead.getOrDefault(key, 0L)) {
      changes.put(key, state);
    }
  }

  private void passed(long revision) {
    complete = revision;
    ahead.values().removeIf(written -> written <= revision);
  }

  private void apply(Map<String, RecordState> changes) {
    changes
        .entrySet()
        .removeIf(change -> Objects.equals(now.state(change.getKey()), change.getValue()));
    if (changes.isEmpty()) {
      return;
    }
    TreeMap<String, RecordState> states = now.copyOfStates();
    changes.forEach(
        (key, state) -> {
          if (state instanceof RecordState.Absent) {
            states.remove(key);
          } else {
            states.put(key, state);
          }
          if (state instanceof RecordState.Damaged damaged) {
            damages.accept(damaged.reason().getMessage());
          }
        });
    now = new RecordSnapshot(now.version() + 1, states);
    listener.changed(now, changes.keySet());
  }
}
