package dev.polis.consensus;

import dev.polis.api.consensus.CaReports;
import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.consensus.ConsensusCa.Step;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.Compare;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.KeyPrefix;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.Lease;
import dev.polis.etcd.Op;
import dev.polis.logtree.Log;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiAuthority.Succession;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiException;
import dev.polis.pki.PkiStore;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * Stores the etcd CA in etcd, where each member finds it and can issue certificates with it. The CA
 * exists before etcd runs, so this class writes it to the place where the PKI store expects an
 * authority of its name; from then on the store owns it, with a revocation list and a successor.
 *
 * <p>Beside it each member reports the CAs with which its etcd runs. So a step of a rotation waits
 * until the step before has reached each member.
 */
final class EtcdAuthority {

  /** The namespace of consensus' own keys, which only root sees. */
  static final String NAMESPACE = "etcd-pki";

  /** The CA's name in the store. */
  static final String NAME = "CA";

  static final String PREFIX = "/pki/";

  private static final CertificateTemplate TEMPLATE =
      CertificateTemplate.authority(ConsensusPki.CA_NAME);

  /** The prefix of the members' reports, each under the member's id. */
  private static final KeyPrefix REPORTS = KeyPrefix.of("/trust/");

  /** The key of a member that hands over its leadership, for which the others hold writes. */
  private static final String HAND_OVER = "/hand-over";

  /** The prefix of the revisions of that key for which a member holds writes, under its id. */
  private static final KeyPrefix HELD = KeyPrefix.of("/held/");

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
   * @throws ConsensusException if etcd has one that this node does not trust: then its data and
   *     this node's files do not match
   */
  void ensure(ConsensusPki pki) throws InterruptedException {
    store(pki.authority());
    PkiAuthority stored = read();
    if (stored.succession() instanceof Succession.Prepared(X509Certificate next)
        && isSame(next, pki.trusted().issuing())) {
      // The records were restored from a snapshot of the step before, and this disk is ahead.
      stored.succeed();
    } else if (!pki.trusted().contains(stored.certificate())) {
      throw new ConsensusException(
          ("etcd holds another CA under %s%s than this node's disk: the disk or etcd was"
                  + " restored from another cluster, or from before a rotation of the CA; restore both from the same copy")
              .formatted(client.namespace(), CERTIFICATE));
    }
  }

  /** Returns whether two certificates belong to one CA, which renews its own near its end. */
  static boolean isSame(X509Certificate one, X509Certificate other) {
    return one.getPublicKey().equals(other.getPublicKey());
  }

  /** Returns the stored CA. */
  PkiAuthority read() throws InterruptedException {
    return pkiStore().ensureAuthority(NAME, TEMPLATE);
  }

  private PkiStore pkiStore() {
    return new PkiStore(PkiBackend.etcd(client, client.kv(), PREFIX));
  }

  /**
   * Returns the stored CA, after it has stored the member's own if a client has removed it: {@link
   * #read} would make another one, which no member trusts.
   *
   * @param log gets a warning about the removal
   */
  PkiAuthority read(ConsensusPki own, Log log) throws InterruptedException {
    Optional<PkiAuthority> stored = pkiStore().existingAuthority(NAME, TEMPLATE);
    if (stored.isPresent()) {
      return stored.get();
    }
    store(own.authority());
    log.warning("a client removed etcd's CA from its records; the node stored it again");
    return read();
  }

  /** Returns the changed keys of a rotation, reports included. */
  Value<String> changes() {
    return client.range(KeyRange.all(), (key, _) -> key);
  }

  // ---- the steps of a rotation

  /** Returns the members' reports, by their ids. */
  CaReports reports() {
    return new CaReports(client.kv(), REPORTS);
  }

  /**
   * Asks the other members to hold the writes of their users until the lease ends.
   *
   * @param others the ids of the members
   * @return false if some do not answer in this time
   */
  boolean askToHold(Lease lease, Set<String> others, Duration within) throws InterruptedException {
    long asked = client.kv().within(within).put(HAND_OVER, new byte[0], lease);
    long end = System.nanoTime() + within.toNanos();
    try (Watcher<String> changes = changes().watch()) {
      while (!holding(asked, within).containsAll(others)) {
        changes.get(_ -> true, Duration.ofNanos(Math.max(0, end - System.nanoTime())));
      }
      return true;
    } catch (TimeoutException silent) {
      return false;
    }
  }

  private Set<String> holding(long asked, Duration within) throws InterruptedException {
    return client.kv().within(within).range(HELD.range()).keys().stream()
        .filter(each -> each.text().equals(Long.toString(asked)))
        .map(each -> HELD.extractId(each.key()).orElseThrow())
        .collect(Collectors.toSet());
  }

  /** Returns the revision at which a member asked others to hold writes; empty if none does now. */
  OptionalLong askedToHold() throws InterruptedException {
    return client.kv().get(HAND_OVER).stream().mapToLong(KeyValue::modRevision).findFirst();
  }

  /** Reports that a member holds writes. */
  void holds(String memberId, long asked) throws InterruptedException {
    client.kv().put(HELD.key(memberId), Long.toString(asked).getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns how far a rotation is.
   *
   * @param members the members of etcd
   */
  ConsensusCa state(List<EtcdMember> members) throws InterruptedException {
    PkiAuthority authority = read();
    X509Certificate issuing = authority.certificate();
    ConsensusCa now =
        switch (authority.succession()) {
          case Succession.None _ -> state(Step.ONE, CaBundle.of(issuing));
          case Succession.Prepared(X509Certificate next) ->
              state(Step.PREPARED, new CaBundle(List.of(issuing, next)));
          case Succession.Issuing(X509Certificate former) ->
              state(Step.ISSUING, new CaBundle(List.of(issuing, former)));
        };
    Map<String, List<String>> reports = reports().all();
    return now.withWaiting(
        members.stream()
            .filter(each -> !now.isReached(reports.getOrDefault(each.hexId(), List.of())))
            .map(each -> each.hasStarted() ? each.name() : each.peerUrls().getFirst())
            .sorted()
            .toList());
  }

  private static ConsensusCa state(Step step, CaBundle cas) {
    return new ConsensusCa(step, cas, List.of());
  }

  /** Begins or continues a rotation, unless a member waits for the present step. */
  ConsensusCa rotate(List<EtcdMember> members) throws InterruptedException {
    ConsensusCa now = state(members);
    if (!now.waiting().isEmpty() || now.step() == Step.ISSUING) {
      return now;
    }
    try {
      if (now.step() == Step.ONE) {
        read().prepareSuccessor();
      } else {
        read().succeed();
      }
    } catch (PkiException refused) {
      // Another call may have made this step meanwhile.
      if (state(members).step() == now.step()) {
        throw refused;
      }
    }
    return state(members);
  }

  /** Ends the trust in the former CA, if each member has a certificate of the new one. */
  ConsensusCa retire(List<EtcdMember> members) throws InterruptedException {
    ConsensusCa now = state(members);
    if (!now.waiting().isEmpty() || now.step() != Step.ISSUING) {
      return now;
    }
    read().retireFormer();
    return state(members);
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
