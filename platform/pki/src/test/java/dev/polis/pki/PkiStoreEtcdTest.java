package dev.polis.pki;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.EtcdFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** Tests the same promises on the real etcd. */
class PkiStoreEtcdTest extends PkiStoreContract {
  private static EtcdFixture etcd;
  private EtcdClient connection;
  private EtcdClient client;

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @BeforeEach
  void connect() throws Exception {
    connection = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()));
    client = connection.sub("curator");
    client.kv().delete(KeyRange.all());
  }

  @AfterEach
  void disconnect() {
    connection.close();
  }

  @Override
  PkiBackend backend() {
    return PkiBackend.etcd(client, client.kv(), "/cluster-pki/");
  }
}
