package dev.polis.curator;

import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordState;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.WatchOptions;
import dev.polis.etcd.WatchUpdate;
import dev.polis.logtree.Log;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.TrustedKeys;
import java.util.function.Supplier;

/**
 * Watches the keys whose signatures on plugins the cluster trusts, and gives them to this node at
 * each change. A supervised runnable of each curator that keeps records, leader or not.
 */
final class TrustedKeysWatch {

  private final Supplier<EtcdClient> connect;
  private final LocalTrust trust;

  TrustedKeysWatch(Supplier<EtcdClient> connect, LocalTrust trust) {
    this.connect = connect;
    this.trust = trust;
  }

  /** Watches until it is cancelled. */
  void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get();
        EtcdWatch watch =
            etcd.watch(KeyRange.single(RecordKeys.TRUSTED_KEYS), WatchOptions.snapshot())) {
      context.healthy();
      while (true) {
        if (!(watch.next() instanceof WatchUpdate.Progress)) {
          follow(etcd, context.log());
        }
      }
    }
  }

  /**
   * Passes the present keys to this node, which keeps the former ones while the record is damaged.
   */
  private void follow(EtcdClient etcd, Log log) throws InterruptedException {
    TrustedKeys keys;
    try {
      keys = read(etcd);
    } catch (RpcException damaged) {
      log.error("This node trusts the same keys as before: %s.", damaged.getMessage());
      return;
    }
    trust.trust(keys);
  }

  private static TrustedKeys read(EtcdClient etcd) throws InterruptedException {
    return etcd.kv()
        .get(RecordKeys.TRUSTED_KEYS)
        .map(stored -> RecordState.parse(stored, TrustedKeys.parser()))
        .orElseGet(TrustedKeys::getDefaultInstance);
  }
}
