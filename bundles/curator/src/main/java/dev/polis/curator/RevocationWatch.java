package dev.polis.curator;

import dev.polis.base.values.Watcher;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.pki.Crl;
import dev.polis.supervision.Context;
import java.time.InstantSource;
import java.util.function.Supplier;

/**
 * Watches the cluster's revocation list in etcd and gives each new one to this node. A supervised
 * runnable of each curator that keeps records, leader or not.
 */
final class RevocationWatch {

  private final Supplier<EtcdClient> connect;
  private final LocalTrust trust;

  RevocationWatch(Supplier<EtcdClient> connect, LocalTrust trust) {
    this.connect = connect;
    this.trust = trust;
  }

  /** Watches until it is cancelled. */
  void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get();
        Watcher<Crl> lists =
            new CuratorPki(etcd, etcd.kv(), InstantSource.system())
                .authority()
                .followCrl()
                .watch()) {
      context.healthy();
      while (true) {
        trust.revoke(lists.get());
      }
    }
  }
}
