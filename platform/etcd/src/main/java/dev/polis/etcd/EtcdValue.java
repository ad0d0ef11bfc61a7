package dev.polis.etcd;

import dev.polis.base.values.Value;
import dev.polis.base.values.ValueException;
import dev.polis.base.values.Watcher;
import java.util.Comparator;
import java.util.Optional;

/**
 * Offers a key or a range of keys as a value. Each watcher follows etcd separately; without a
 * watcher it has no running task. Peek reads etcd once.
 */
final class EtcdValue<T> implements Value<T> {

  private final EtcdClient client;
  private final KeyRange range;
  private final ValueDecoder<? extends T> decoder;

  EtcdValue(EtcdClient client, KeyRange range, ValueDecoder<? extends T> decoder) {
    this.client = client;
    this.range = range;
    this.decoder = decoder;
  }

  @Override
  public Watcher<T> watch() {
    return client.watcher(range, this);
  }

  @Override
  public Optional<T> peek() {
    try {
      return client.kv().range(range).keys().stream()
          .max(Comparator.comparingLong(KeyValue::modRevision))
          .map(kv -> decode(kv.key(), Optional.of(kv.value())));
    } catch (InterruptedException interrupted) {
      throw EtcdValueWatcher.interrupted("a look at " + range, interrupted);
    }
  }

  T decode(String key, Optional<byte[]> stored) {
    try {
      return decoder.decode(key, stored);
    } catch (Exception meaningless) {
      throw new ValueException(
          "the value of etcd key "
              + key
              + " ("
              + stored.map(bytes -> bytes.length + " bytes").orElse("deleted")
              + ") cannot be decoded: "
              + meaningless
              + ". Correct what is stored; the next write is read again",
          meaningless);
    }
  }
}
