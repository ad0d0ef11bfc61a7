package dev.polis.kubernetes.pki;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.etcd.EtcdClient;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiStore;
import dev.polis.pki.TlsIdentity;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.EnumMap;
import java.util.Map;

/**
 * Keeps the keys and certificates of the control plane in etcd, creates missing ones, and renews
 * due ones. Any number of controllers may do this at the same time. Safe for any thread; calls
 * block on etcd.
 */
public final class KubePki {

  private static final String SERVICE_ACCOUNT = "keys/service-account-privkey.pem";
  private static final String ENCRYPTION = "keys/encryption.bin";

  /** The size of a key of NaCl's secretbox. */
  private static final int ENCRYPTION_BYTES = 32;

  private static final SecureRandom RANDOM = new SecureRandom();

  private final PkiStore store;
  private final KubeLifetimes lifetimes;

  /**
   * Creates the store without a read.
   *
   * @param client the client of the namespace of Kubernetes
   * @param lifetimes the lifetimes of new certificates
   */
  public KubePki(EtcdClient client, InstantSource clock, KubeLifetimes lifetimes) {
    this.store =
        new PkiStore(PkiBackend.etcd(client, client.kv(), KubernetesNames.PKI_PREFIX), clock);
    this.lifetimes = lifetimes;
  }

  /**
   * Returns all keys and certificates for present use.
   *
   * @throws dev.polis.pki.PkiException if stored data is unreadable; it stays unchanged
   * @throws dev.polis.etcd.EtcdException if etcd does not answer; try again
   */
  public KubeKeys ensure() throws InterruptedException {
    PkiAuthority id = authority(KubernetesNames.ID_CA, KubernetesNames.ID_CA_COMMON_NAME);
    PkiAuthority aggregation =
        authority(KubernetesNames.AGGREGATION_CA, KubernetesNames.AGGREGATION_CA_COMMON_NAME);
    Map<KubeIdentity, TlsIdentity> identities = new EnumMap<>(KubeIdentity.class);
    for (KubeIdentity each : KubeIdentity.values()) {
      PkiAuthority issuer = each.proxy() ? aggregation : id;
      identities.put(
          each,
          issuer.ensureManaged(
              each.objectName(), each.template().withLifetime(lifetimes.certificates())));
    }
    return new KubeKeys(
        id.authority(),
        aggregation.certificate(),
        identities,
        ServiceAccountKey.of(
            store.ensureBytes(SERVICE_ACCOUNT, () -> ServiceAccountKey.generate().bytes())),
        store.ensureBytes(ENCRYPTION, KubePki::newEncryptionKey));
  }

  private PkiAuthority authority(String name, String commonName) throws InterruptedException {
    return store.ensureAuthority(
        name, CertificateTemplate.authority(commonName).withLifetime(lifetimes.authorities()));
  }

  private static byte[] newEncryptionKey() {
    byte[] key = new byte[ENCRYPTION_BYTES];
    RANDOM.nextBytes(key);
    return key;
  }
}
