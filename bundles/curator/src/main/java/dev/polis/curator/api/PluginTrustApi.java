package dev.polis.curator.api;

import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.AddTrustedKeyResponse;
import dev.polis.wire.cluster.ListTrustedKeysRequest;
import dev.polis.wire.cluster.ListTrustedKeysResponse;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RemoveTrustedKeyRequest;
import dev.polis.wire.cluster.RemoveTrustedKeyResponse;
import dev.polis.wire.cluster.TrustedKey;
import dev.polis.wire.cluster.TrustedKeys;
import io.grpc.stub.StreamObserver;
import java.util.List;

/** Serves the PluginTrust API, for operators and nodes: the keys that may sign plugins. */
public final class PluginTrustApi extends PluginTrustGrpc.PluginTrustImplBase {

  private final LeaderGate gate;
  private final SignedPlugins signed;

  public PluginTrustApi(LeaderGate gate, SignedPlugins signed) {
    this.gate = gate;
    this.signed = signed;
  }

  @Override
  public void listTrustedKeys(
      ListTrustedKeysRequest request, StreamObserver<ListTrustedKeysResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term ->
            ListTrustedKeysResponse.newBuilder()
                .addAllKeys(term.records().trustedKeys().getKeysList())
                .build());
  }

  @Override
  public void addTrustedKey(
      AddTrustedKeyRequest request, StreamObserver<AddTrustedKeyResponse> caller) {
    if (!request.hasKey()) {
      throw Refusal.invalid("key must be set");
    }
    TrustedKey added = checked(request.getKey());
    ApiCalls.unary(
        gate,
        caller,
        term ->
            term.records()
                .updateTrustedKeys(
                    record -> TrustedKeyRules.with(record, added),
                    written ->
                        AddTrustedKeyResponse.newBuilder()
                            .addAllKeys(written.getKeysList())
                            .build()));
  }

  private static TrustedKey checked(TrustedKey key) {
    try {
      TrustedKeyRules.key(key);
      return TrustedKey.newBuilder()
          .setName(key.getName())
          .setPublicKey(key.getPublicKey())
          .build();
    } catch (IllegalArgumentException e) {
      throw Refusal.invalid("%s", e.getMessage());
    }
  }

  @Override
  public void removeTrustedKey(
      RemoveTrustedKeyRequest request, StreamObserver<RemoveTrustedKeyResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          TrustedKeys before = term.records().trustedKeys();
          TrustedKey removed = TrustedKeyRules.require(before, request.getName());
          List<String> plugins = signed.by(TrustedKeyRules.key(removed).id());
          return term.records()
              .updateTrustedKeys(
                  record -> without(record, removed, plugins, request.getForce()),
                  after ->
                      RemoveTrustedKeyResponse.newBuilder()
                          .addAllKeys(after.getKeysList())
                          .addAllConsequences(
                              TrustedKeyRules.consequences(before, removed, plugins))
                          .build());
        });
  }

  private static TrustedKeys without(
      TrustedKeys record, TrustedKey removed, List<String> plugins, boolean force) {
    TrustedKeyRules.require(record, removed.getName());
    List<String> consequences = TrustedKeyRules.consequences(record, removed, plugins);
    if (!force && !consequences.isEmpty()) {
      throw Refusal.precondition(
          "the key %s was not removed: %s; repeat the call with force to remove it all the same",
          removed.getName(), String.join("; ", consequences));
    }
    return TrustedKeyRules.without(record, removed);
  }
}
