package dev.polis.pki;

import dev.polis.base.values.Value;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Keeps the keys of a {@link PkiStore} in etcd. */
record PkiBackendEtcd(EtcdClient client, KeyValues kv, String prefix, Transaction transaction)
    implements PkiBackend {
  @Override
  public Optional<Entry> get(String key) throws InterruptedException {
    return kv.get(prefix + key).map(found -> new Entry(found.value(), found.modRevision()));
  }

  @Override
  public boolean commit(List<Change> changes) throws InterruptedException {
    List<Compare> conditions =
        changes.stream()
            // A missing key has the revision 0.
            .map(change -> Compare.modRevision(prefix + change.key()).is(change.expected()))
            .toList();
    try {
      return transaction.commit(conditions, changes.stream().flatMap(this::op).toList());
    } catch (EtcdOutcomeUnknownException unknown) {
      // Each caller reads again, and finds its own write if etcd has made it.
      return false;
    }
  }

  private Stream<Op> op(Change change) {
    return switch (change) {
      case Put put -> Stream.of(Op.put(prefix + put.key(), put.value()));
      case Delete delete -> Stream.of(Op.delete(prefix + delete.key()));
      case Require require -> Stream.empty();
    };
  }

  @Override
  public Value<byte[]> follow(String key) {
    return client.value(
        prefix + key,
        (name, stored) ->
            stored.orElseThrow(
                () -> new PkiException("stored object " + name + " was deleted; create it anew")));
  }
}
