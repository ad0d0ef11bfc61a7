package dev.polis.curator.record;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.RangeOptions;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.IssuedCertificate;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiException;
import dev.polis.pki.PkiStore;
import java.math.BigInteger;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/** Issues the certificates of nodes and users by the cluster's own certificate authority. */
public final class CuratorPki {

  /** The remedy for records that are gone. */
  public static final String RESTORE =
      "restore them from a file of polisctl etcd snapshot: stop the nodes that keep the records, then ./polis up --force-new-cluster ID --restore FILE at one of them, with the id that polisctl etcd members shows";

  private static final String AUTHORITY = "cluster-ca";

  private static final String NODE = "node-";

  private final PkiStore store;
  private final EtcdClient etcd;
  private final KeyValues kv;
  private final InstantSource clock;
  private final boolean founded;

  /** Opens the store of a cluster, and makes its authority if it has none. */
  public CuratorPki(EtcdClient etcd, KeyValues kv, InstantSource clock) {
    this(etcd, kv, clock, false);
  }

  private CuratorPki(EtcdClient etcd, KeyValues kv, InstantSource clock, boolean founded) {
    this.etcd = etcd;
    this.kv = kv;
    this.clock = clock;
    this.founded = founded;
    this.store = new PkiStore(PkiBackend.etcd(etcd, kv, RecordKeys.PKI), clock);
  }

  /**
   * Opens the store of a cluster that this node is a member of. A second authority would be trusted
   * by no node, so it makes none.
   */
  public static CuratorPki founded(EtcdClient etcd, KeyValues kv) {
    return new CuratorPki(etcd, kv, InstantSource.system(), true);
  }

  public PkiAuthority authority() throws InterruptedException {
    return authority(store);
  }

  private PkiAuthority authority(PkiStore store) throws InterruptedException {
    CertificateTemplate template = CertificateTemplate.authority("Polis cluster CA");
    if (!founded) {
      return store.ensureAuthority(AUTHORITY, template);
    }
    return store
        .existingAuthority(AUTHORITY, template)
        .orElseThrow(
            () ->
                new PkiException(
                    "etcd has no CA of the cluster, so a client has removed the cluster's records, or part of them; "
                        + RESTORE));
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
    return NODE + id;
  }

  /** Returns the node whose certificates have a name in the store; empty for those of a user. */
  public static Optional<NodeId> nodeOf(String name) {
    return Optional.of(name)
        .filter(each -> each.startsWith(NODE))
        .map(each -> each.substring(NODE.length()))
        .filter(NodeId::matches)
        .map(NodeId::parse);
  }

  /** Returns all certificates of nodes and users that have not expired, and the newest of each. */
  public List<IssuedCertificate> issued() throws InterruptedException {
    List<String> keys =
        kv
            .range(KeyRange.prefix(RecordKeys.PKI), RangeOptions.DEFAULT.withKeysOnly())
            .keys()
            .stream()
            .map(found -> found.key().substring(RecordKeys.PKI.length()))
            .toList();
    return authority().issued(keys);
  }

  /** Revokes all certificates of a user for good: the user gets none again. */
  public void revokeUser(String name) throws InterruptedException {
    authority().revoke(name);
  }

  /** Revokes single certificates, and leaves their holders the others. */
  public void revokeSerials(List<BigInteger> serials) throws InterruptedException {
    authority().revokeSerials(serials);
  }

  /** Returns whether the store has a certificate of a user. */
  public boolean hasUser(String name) throws InterruptedException {
    return authority().find(name).isPresent();
  }

  /**
   * Revokes all certificates of a user and forgets the user, whose name another one may get. It
   * ignores a user that has none.
   *
   * @return how many certificates it revoked
   */
  public int removeUser(String name) throws InterruptedException {
    int revoked = unrevoked(name);
    authority().remove(name);
    return revoked;
  }

  /**
   * Does the same in a larger transaction.
   *
   * @param transaction returns, from the number of certificates, what adds the other changes
   */
  public int removeUser(String name, IntFunction<PkiBackend.Transaction> transaction)
      throws InterruptedException {
    // This also renews the authority if it is due, so that the transaction only removes.
    int revoked = unrevoked(name);
    authority(with(transaction.apply(revoked))).remove(name);
    return revoked;
  }

  private int unrevoked(String name) throws InterruptedException {
    return (int)
        issued().stream().filter(each -> each.name().equals(name) && !each.revoked()).count();
  }

  public X509Certificate ensureUser(String name, PublicKey key) throws InterruptedException {
    return authority().ensureExternal(name, CertificateTemplate.user(name), key);
  }

  /**
   * Returns the user's certificate, and issues it in a transaction with a condition of the records.
   *
   * @param transaction adds the condition
   */
  public X509Certificate ensureUser(String name, PublicKey key, PkiBackend.Transaction transaction)
      throws InterruptedException {
    return authority(with(transaction)).ensureExternal(name, CertificateTemplate.user(name), key);
  }

  private PkiStore with(PkiBackend.Transaction transaction) {
    return new PkiStore(PkiBackend.etcd(etcd, kv, RecordKeys.PKI, transaction), clock);
  }

  /**
   * Revokes all certificates of a user, and issues one for another key, in one transaction.
   *
   * @param transaction adds the change of the record that names the user's key
   */
  public X509Certificate replaceUser(String name, PublicKey key, PkiBackend.Transaction transaction)
      throws InterruptedException {
    return authority(with(transaction)).replaceExternal(name, CertificateTemplate.user(name), key);
  }
}
