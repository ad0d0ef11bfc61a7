package dev.polis.curator.api;

import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.PluginRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.NodeId;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.cluster.GetPluginSetRequest;
import dev.polis.wire.cluster.GetPluginSetResponse;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.ReportPluginsRequest;
import dev.polis.wire.cluster.ReportPluginsResponse;
import dev.polis.wire.cluster.UnwantPluginRequest;
import dev.polis.wire.cluster.UnwantPluginResponse;
import dev.polis.wire.cluster.WantPluginRequest;
import dev.polis.wire.cluster.WantPluginResponse;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.cluster.WatchPluginSetRequest;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import io.grpc.stub.StreamObserver;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/** Serves the PluginSet API, for operators and nodes: the plugins that nodes should run. */
public final class PluginSetApi extends PluginSetGrpc.PluginSetImplBase {

  private final LeaderGate gate;
  private final CallStreams streams;
  private final InstantSource clock;

  public PluginSetApi(LeaderGate gate, CallStreams streams, InstantSource clock) {
    this.gate = gate;
    this.streams = streams;
    this.clock = clock;
  }

  @Override
  public void getPluginSet(
      GetPluginSetRequest request, StreamObserver<GetPluginSetResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          PluginRecords records = term.records().plugins();
          return GetPluginSetResponse.newBuilder()
              .addAllWanted(records.wanted())
              .addAllReports(records.reports())
              .build();
        });
  }

  @Override
  public void wantPlugin(WantPluginRequest request, StreamObserver<WantPluginResponse> caller) {
    PluginScope scope = PluginScopes.checked(request.getScope());
    String who = RpcPeer.current().describe();
    ApiCalls.unary(gate, caller, term -> want(term, scope, request, who));
  }

  private WantPluginResponse want(
      LeaderTerm term, PluginScope scope, WantPluginRequest request, String who)
      throws InterruptedException {
    TrustRoots roots = TrustedKeyRules.roots(term.records().trustedKeys());
    PluginRecords records = term.records().plugins();
    PluginCandidate candidate =
        PluginCandidate.verified(scope, request.getManifest(), request.getOlder(), roots, records);
    candidate.require(records);
    WantedPlugin added = candidate.wanted(who, clock.millis());
    // The plugin that the last attempt replaced; earlier attempts do not count.
    AtomicReference<Optional<WantedPlugin>> before = new AtomicReference<>(Optional.empty());
    return term.records()
        .updateWantedPlugins(
            record -> {
              before.set(
                  WantedPluginRules.find(record.getWantedList(), scope, added.getSymbolicName()));
              return WantedPluginRules.with(record, added, request.getAgain());
            },
            written -> answer(written, added, before.get()),
            PluginSetApi::withoutManifests);
  }

  private static WantPluginResponse answer(
      WantedPlugins written, WantedPlugin added, Optional<WantedPlugin> before) {
    WantPluginResponse.Builder response =
        WantPluginResponse.newBuilder()
            .setWanted(
                WantedPluginRules.find(
                        written.getWantedList(), added.getScope(), added.getSymbolicName())
                    .orElse(added));
    before.ifPresent(response::setBefore);
    return response.build();
  }

  /** Returns what is remembered of an answer: a manifest may have half a megabyte. */
  private static WantPluginResponse withoutManifests(WantPluginResponse answer) {
    WantPluginResponse.Builder brief = answer.toBuilder();
    brief.getWantedBuilder().clearManifest();
    if (answer.hasBefore()) {
      brief.getBeforeBuilder().clearManifest();
    }
    return brief.build();
  }

  @Override
  public void unwantPlugin(
      UnwantPluginRequest request, StreamObserver<UnwantPluginResponse> caller) {
    PluginScope scope = PluginScopes.checked(request.getScope());
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          AtomicReference<WantedPlugin> before =
              new AtomicReference<>(WantedPlugin.getDefaultInstance());
          return term.records()
              .updateWantedPlugins(
                  record -> {
                    before.set(WantedPluginRules.require(record, scope, request.getSymbolicName()));
                    return WantedPluginRules.without(record, before.get());
                  },
                  _ -> UnwantPluginResponse.newBuilder().setBefore(before.get()).build(),
                  answer ->
                      UnwantPluginResponse.newBuilder()
                          .setBefore(answer.getBefore().toBuilder().clearManifest())
                          .build());
        });
  }

  @Override
  public void watchPluginSet(
      WatchPluginSetRequest request, StreamObserver<WatchPluginSetResponse> caller) {
    LeaderTerm term = ApiCalls.run(gate::require);
    streams.serve("curator plugin set", caller, term.plugins()::follow);
  }

  @Override
  public void reportPlugins(
      ReportPluginsRequest request, StreamObserver<ReportPluginsResponse> caller) {
    NodeId self = RpcPeer.current().requireNode();
    if (!request.hasReport()) {
      throw Refusal.invalid("report must be set");
    }
    PluginReport report =
        request.getReport().toBuilder()
            .setNodeId(self.text())
            .setReportedMillis(clock.millis())
            .build();
    ApiCalls.unary(
        gate,
        caller,
        term -> {
          term.records().putPluginReport(report);
          return ReportPluginsResponse.getDefaultInstance();
        });
  }
}
