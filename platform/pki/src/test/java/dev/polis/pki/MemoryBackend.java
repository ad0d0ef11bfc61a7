package dev.polis.pki;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Implements the store's contract in memory, with etcd's revisions. */
final class MemoryBackend implements PkiBackend {
  private final Map<String, Entry> entries = new HashMap<>();
  private final Map<String, MutableValue<byte[]>> followed = new HashMap<>();
  private long revision;
  private int commits;

  @Override
  public synchronized Optional<Entry> get(String key) {
    return Optional.ofNullable(entries.get(key));
  }

  @Override
  public synchronized boolean commit(List<Change> changes) {
    for (Change change : changes) {
      if (get(change.key()).map(Entry::revision).orElse(0L) != change.expected()) {
        return false;
      }
    }
    revision++;
    commits++;
    changes.forEach(this::apply);
    return true;
  }

  private void apply(Change change) {
    switch (change) {
      case Put put -> put(put.key(), put.value());
      case Delete delete -> entries.remove(delete.key());
      case Require require -> require.key();
    }
  }

  private void put(String key, byte[] value) {
    entries.put(key, new Entry(value, revision));
    followed.computeIfAbsent(key, name -> new MutableValue<>()).set(value);
  }

  synchronized void damage(String key, byte[] value) {
    revision++;
    put(key, value);
  }

  synchronized int commits() {
    return commits;
  }

  synchronized List<String> keys() {
    return entries.keySet().stream().sorted().toList();
  }

  @Override
  public synchronized Value<byte[]> follow(String key) {
    return followed.computeIfAbsent(key, name -> new MutableValue<>());
  }
}
