package dev.polis.curator;

import dev.polis.base.values.Watcher;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.pki.Crl;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Context;
import java.time.InstantSource;
import java.util.function.Supplier;

/**
 * Watches the cluster's revocation list in etcd and gives each new one to this node's RPC host. It
 * runs in each curator, leader or not.
 */
final class RevocationWatch {

  private final Supplier<EtcdClient> connect;
  private final RpcHost rpc;

  RevocationWatch(Supplier<EtcdClient> connect, RpcHost rpc) {
    this.connect = connect;
    this.rpc = rpc;
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
        rpc.revoke(lists.get());
      }
    }
  }
}
