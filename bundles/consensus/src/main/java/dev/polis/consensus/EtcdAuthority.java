package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.Op;
import dev.polis.etcd.TxnResult;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Pem;
import java.util.Arrays;
import java.util.List;

/**
 * The etcd CA as etcd itself keeps it, where every member finds it and can mint certificates for
 * the next. Both keys are written in one transaction, once.
 */
final class EtcdAuthority {

  /** The namespace of consensus' own keys; no user but root sees it. */
  static final String NAMESPACE = "etcd-pki";

  static final String KEY = "/pki/keys/CA-privkey.bin";
  static final String CERTIFICATE = "/pki/issued/CA-cert.der";

  private final EtcdClient client;

  /**
   * @param root a client of the root namespace
   */
  EtcdAuthority(EtcdClient root) {
    this.client = root.sub(NAMESPACE);
  }

  /**
   * Stores the CA if there is none yet.
   *
   * @throws ConsensusException if etcd holds another one: then its data and our files do not belong
   *     together
   */
  void ensure(CertificateAuthority authority) throws InterruptedException {
    byte[] certificate = Pem.der(authority.certificate());
    byte[] key = authority.privateKey().getEncoded();
    try {
      TxnResult result =
          client
              .kv()
              .txn()
              .when(Compare.absent(CERTIFICATE), Compare.absent(KEY))
              .then(Op.put(CERTIFICATE, certificate), Op.put(KEY, key))
              .otherwise(Op.get(CERTIFICATE))
              .commit();
      if (!result.succeeded()) {
        compare(result.found(0), certificate);
      }
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }

  private void compare(List<KeyValue> stored, byte[] certificate) {
    if (stored.isEmpty() || !Arrays.equals(stored.getFirst().value(), certificate)) {
      throw new ConsensusException(
          ("etcd holds another CA under %s%s than this node's disk; the disk was restored from another"
                  + " cluster, or etcd was. Restore both from the same copy")
              .formatted(client.namespace(), CERTIFICATE));
    }
  }
}
