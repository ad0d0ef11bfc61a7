package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.curator.api.OperatorRules;
import dev.polis.curator.api.TrustedKeyRules;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRevocations;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.TrustLists;
import dev.polis.wire.cluster.TrustedKeys;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Gives this node the lists by which it trusts others, and publishes them for members that run no
 * etcd. Thread-safe.
 */
final class LocalTrust {

  private final RpcHost rpc;
  private final Consumer<TrustRoots> plugins;
  private final MutableValue<TrustLists> lists =
      new MutableValue<>(TrustLists.getDefaultInstance());

  LocalTrust(RpcHost rpc, Consumer<TrustRoots> plugins) {
    this.rpc = rpc;
    this.plugins = plugins;
  }

  /**
   * Does the same as {@link #revoke}, unless this node has a newer list: a leader that has just
   * begun may not have read the newest one, and a node that pretends to lead may send a former one.
   *
   * @throws dev.polis.pki.PkiException if the list is older
   */
  synchronized void revokeNewer(Crl list) {
    Optional<Crl> newer =
        revoked().filter(present -> present.number().compareTo(list.number()) > 0);
    if (newer.isPresent()) {
      throw new PkiException(
          "the leader sent the revocation list %s, but this node has the newer one %s"
              .formatted(list.number(), newer.get().number()));
    }
    revoke(list);
  }

  /** Returns the list that this node knows, from the disk or from the cluster. */
  Optional<Crl> revoked() {
    return rpc.revocations().peek().orElseThrow() instanceof RpcRevocations.Known(Crl list)
        ? Optional.of(list)
        : Optional.empty();
  }

  /** Refuses the certificates of a list from now on. */
  synchronized void revoke(Crl list) {
    rpc.revoke(list);
    ByteString der = ByteString.copyFrom(list.der());
    lists.update(now -> now.orElseThrow().toBuilder().setRevocations(der).build());
  }

  /**
   * Trusts the newest CA of the cluster too. A proof that is shorter than the one this node knows
   * is ignored: it was read before that, by another task or another curator.
   *
   * @param succession the proof, as {@link CaBundle#learn} reads it
   * @throws dev.polis.pki.PkiException if it proves nothing to this node
   */
  synchronized void succeed(List<X509Certificate> succession) {
    if (succession.size() < lists.peek().orElseThrow().getCaSuccessionCount()) {
      return;
    }
    CaBundle now = authorities();
    CaBundle learned = now.learn(succession);
    if (!learned.equals(now)) {
      rpc.trust(learned);
    }
    List<ByteString> der =
        succession.stream().map(each -> ByteString.copyFrom(Pem.der(each))).toList();
    lists.update(
        before ->
            before.orElseThrow().toBuilder().clearCaSuccession().addAllCaSuccession(der).build());
  }

  /** Returns the CAs that this node trusts. */
  CaBundle authorities() {
    return rpc.authorities()
        .peek()
        .orElseThrow(
            () ->
                new IllegalStateException("the RPC host has no credentials; call identify first"));
  }

  /** Accepts plugins that these keys have signed, and no others. */
  void trust(TrustedKeys keys) {
    plugins.accept(TrustedKeyRules.roots(keys));
    lists.update(now -> now.orElseThrow().toBuilder().setTrustedKeys(keys).build());
  }

  /** Decides about the calls of users by these operators. */
  void admit(OperatorList operators) {
    rpc.admit(OperatorRules.roles(operators));
    lists.update(now -> now.orElseThrow().toBuilder().setOperators(operators).build());
  }

  /** Returns the lists, of which some may not be known yet. */
  Value<TrustLists> lists() {
    return lists;
  }
}
