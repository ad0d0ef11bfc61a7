package dev.polis.curator;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.polis.curator.record.RecordState;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.WatchOptions;
import dev.polis.etcd.WatchUpdate;
import dev.polis.logtree.Log;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.Context;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Watches one record by which nodes trust others, the keys that sign plugins or the operators, and
 * gives it to this node at each change. A supervised runnable of each curator that keeps records,
 * leader or not.
 *
 * @param <M> the type of the record
 */
final class TrustRecordWatch<M extends MessageLite> {

  private final Supplier<EtcdClient> connect;
  private final String key;
  private final Parser<M> parser;
  private final M none;
  private final Consumer<M> trust;

  /**
   * @param none what a missing record means
   * @param trust receives the record
   */
  TrustRecordWatch(
      Supplier<EtcdClient> connect, String key, Parser<M> parser, M none, Consumer<M> trust) {
    this.connect = connect;
    this.key = key;
    this.parser = parser;
    this.none = none;
    this.trust = trust;
  }

  /** Watches until it is cancelled. */
  void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get();
        EtcdWatch watch = etcd.watch(KeyRange.single(key), WatchOptions.snapshot())) {
      context.healthy();
      while (true) {
        if (!(watch.next() instanceof WatchUpdate.Progress)) {
          follow(etcd, context.log());
        }
      }
    }
  }

  /**
   * Passes the present record to this node, which keeps the former one while the record is damaged.
   */
  private void follow(EtcdClient etcd, Log log) throws InterruptedException {
    M record;
    try {
      record = read(etcd);
    } catch (RpcException damaged) {
      log.error("This node trusts by the same record as before: %s.", damaged.getMessage());
      return;
    }
    trust.accept(record);
  }

  private M read(EtcdClient etcd) throws InterruptedException {
    return etcd.kv().get(key).map(stored -> RecordState.parse(stored, parser)).orElse(none);
  }
}
