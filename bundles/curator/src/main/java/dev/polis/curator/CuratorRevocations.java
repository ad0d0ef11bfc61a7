package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.event.Watcher;
import dev.polis.pki.Crl;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Context;
import java.time.InstantSource;
import java.util.function.Supplier;

/**
 * The runnable that tells the listeners of this node whose certificates are revoked, as soon as
 * etcd has the new list. Each curator does so, leader or not.
 */
final class CuratorRevocations {

  private final Supplier<EtcdClient> connect;
  private final RpcHost rpc;

  CuratorRevocations(Supplier<EtcdClient> connect, RpcHost rpc) {
    this.connect = connect;
    this.rpc = rpc;
  }

  void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get();
        Watcher<Crl> lists =
            new CuratorPki(etcd, etcd.kv(), InstantSource.system())
                .authority()
                .followCrl()
                .watch()) {
      context.healthy();
      while (true) {
        rpc.revoke(lists.get());
      }
    }
  }
}
