package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.Op;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiStore;
import java.security.cert.X509Certificate;
import java.util.Arrays;

/**
 * Stores the etcd CA in etcd, where each member finds it and can issue certificates with it. The CA
 * exists before etcd runs, so this class writes it to the place where the PKI store expects an
 * authority of its name; from then on the store owns it, with a revocation list.
 */
final class EtcdAuthority {

  /** The namespace of consensus' own keys, which only root sees. */
  static final String NAMESPACE = "etcd-pki";

  /** The CA's name in the store. */
  static final String NAME = "CA";

  static final String PREFIX = "/pki/";
  static final String KEY = PREFIX + "keys/" + NAME + "-privkey.bin";
  static final String CERTIFICATE = PREFIX + "issued/" + NAME + "-cert.der";

  private final EtcdClient client;

  /**
   * @param root a client of the root namespace
   */
  EtcdAuthority(EtcdClient root) {
    this.client = root.sub(NAMESPACE);
  }

  /** Returns whether etcd has the same certificate of this CA. */
  boolean holds(CertificateAuthority authority) throws InterruptedException {
    return client
        .kv()
        .get(CERTIFICATE)
        .filter(stored -> Arrays.equals(stored.value(), Pem.der(authority.certificate())))
        .isPresent();
  }

  /**
   * Stores the CA if it is missing.
   *
   * @throws ConsensusException if etcd has another one: then its data and this node's files do not
   *     match
   */
  void ensure(CertificateAuthority authority) throws InterruptedException {
    store(authority);
    X509Certificate stored =
        new PkiStore(PkiBackend.etcd(client, client.kv(), PREFIX))
            .ensureAuthority(NAME, CertificateTemplate.authority(ConsensusPki.CA_NAME))
            .certificate();
    // The store renews the certificate near its end, for the same key.
    if (!stored.getPublicKey().equals(authority.certificate().getPublicKey())) {
      throw new ConsensusException(
          ("etcd holds another CA under %s%s than this node's disk: the disk or etcd was"
                  + " restored from another cluster; restore both from the same copy")
              .formatted(client.namespace(), CERTIFICATE));
    }
  }

  private void store(CertificateAuthority authority) throws InterruptedException {
    byte[] key = authority.privateKey().getEncoded();
    try {
      client
          .kv()
          .txn()
          .when(Compare.absent(CERTIFICATE), Compare.absent(KEY))
          .then(Op.put(CERTIFICATE, Pem.der(authority.certificate())), Op.put(KEY, key))
          .commit();
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }
}
