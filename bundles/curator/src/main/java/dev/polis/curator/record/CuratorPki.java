package dev.polis.curator.record;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValues;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiStore;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.Optional;

/** Issues the certificates of nodes and users by the cluster's own certificate authority. */
public final class CuratorPki {

  private static final String AUTHORITY = "cluster-ca";

  private final PkiStore store;

  public CuratorPki(EtcdClient etcd, KeyValues kv, InstantSource clock) {
    this.store = new PkiStore(PkiBackend.etcd(etcd, kv, RecordKeys.PKI), clock);
  }

  public PkiAuthority authority() throws InterruptedException {
    return store.ensureAuthority(AUTHORITY, CertificateTemplate.authority("Polis cluster CA"));
  }

  public X509Certificate ensureNode(NodeId id, PublicKey key) throws InterruptedException {
    return authority().ensureExternal(ofNode(id), CertificateTemplate.node(id), key);
  }

  /**
   * Revokes all certificates of a node for good: its key gets none again. It ignores a node that
   * has none.
   */
  public void revokeNode(NodeId id) throws InterruptedException {
    PkiAuthority authority = authority();
    if (authority.find(ofNode(id)).isPresent()) {
      authority.revoke(ofNode(id));
    }
  }

  /** Returns whether the certificate of a node was revoked. */
  public boolean isRevoked(NodeId id) throws InterruptedException {
    PkiAuthority authority = authority();
    Optional<X509Certificate> issued = authority.find(ofNode(id));
    return issued.isPresent() && authority.crl().revokes(issued.get());
  }

  private static String ofNode(NodeId id) {
    return "node-" + id;
  }

  public X509Certificate ensureUser(String name, PublicKey key) throws InterruptedException {
    return authority().ensureExternal(name, CertificateTemplate.user(name), key);
  }
}
