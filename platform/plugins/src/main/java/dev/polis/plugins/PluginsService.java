package dev.polis.plugins;

import dev.polis.plugins.graph.BundleStates;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.manifest.BundlePlugin;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcPeer;
import dev.polis.wire.plugins.AdoptRequest;
import dev.polis.wire.plugins.CancelRequest;
import dev.polis.wire.plugins.CancelResponse;
import dev.polis.wire.plugins.ConfigureRequest;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import dev.polis.wire.plugins.GetConfigurationRequest;
import dev.polis.wire.plugins.GetConfigurationResponse;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.HistoryRequest;
import dev.polis.wire.plugins.HistoryResponse;
import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.ListResponse;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.plugins.RemoveRequest;
import dev.polis.wire.plugins.RollbackRequest;
import dev.polis.wire.plugins.StageRequest;
import dev.polis.wire.plugins.StageResponse;
import dev.polis.wire.plugins.StartRequest;
import dev.polis.wire.plugins.StartResponse;
import dev.polis.wire.plugins.StopRequest;
import dev.polis.wire.plugins.StopResponse;
import dev.polis.wire.plugins.SwapProgress;
import dev.polis.wire.plugins.SwapRequest;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import org.osgi.framework.Bundle;

/**
 * Implements the Plugins service over the framework's bundles and the swap engine. Calls may come
 * from any thread; the engine makes one swap, stop or start at a time.
 */
final class PluginsService extends PluginsGrpc.PluginsImplBase {
  private final BundleDirectory bundles;
  private final SwapEngine engine;
  private final LocalPlugins local;
  private final SwapCalls swaps;
  private final ConfigurationCalls configurations;
  private final GraphCall graph;
  private final CallStreams streams = new CallStreams();

  PluginsService(BundleDirectory bundles, SwapEngine engine, LocalPlugins local, GraphCall graph) {
    this.bundles = bundles;
    this.engine = engine;
    this.local = local;
    this.swaps = new SwapCalls(engine, local.staged());
    this.configurations = new ConfigurationCalls(engine);
    this.graph = graph;
  }

  /**
   * Ends the streams of files to other nodes. Their receivers continue at another node, or later.
   */
  void close() {
    streams.close();
  }

  @Override
  public void list(ListRequest request, StreamObserver<ListResponse> observer) {
    answer(
        observer,
        () -> {
          Generation generation = StoreCalls.ask(engine::generation).orElseThrow();
          return ListResponse.newBuilder()
              .setGeneration(generation.number())
              .addAllPlugins(
                  bundles.all().stream().map(bundle -> plugin(bundle, generation)).toList())
              .build();
        });
  }

  private static Plugin plugin(Bundle bundle, Generation generation) {
    String version = bundle.getVersion().toString();
    String digest =
        generation.plugins().stream()
            .filter(each -> each.symbolicName().equals(bundle.getSymbolicName()))
            .filter(each -> each.version().equals(version))
            .map(each -> each.digest().hex())
            .findFirst()
            .orElse("");
    return plugin(bundle).toBuilder()
        .setDigest(digest)
        .setSwappable(!digest.isEmpty() && BundlePlugin.of(bundle) instanceof BundlePlugin.Organ)
        .build();
  }

  @Override
  public StreamObserver<StageRequest> stage(StreamObserver<StageResponse> observer) {
    return new StageCall(local.staged(), local::refresh, observer);
  }

  @Override
  public void fetch(FetchRequest request, StreamObserver<FetchResponse> observer) {
    streams.serve("plugin-fetch", observer, sink -> FetchCall.answer(local, request, sink));
  }

  @Override
  public void adopt(AdoptRequest request, StreamObserver<SwapProgress> observer) {
    stream(observer, () -> swaps.adopt(request, observer));
  }

  @Override
  public void swap(SwapRequest request, StreamObserver<SwapProgress> observer) {
    stream(observer, () -> swaps.swap(request, observer));
  }

  @Override
  public void remove(RemoveRequest request, StreamObserver<SwapProgress> observer) {
    stream(
        observer,
        () -> {
          bundles.requireOutsider(request.getSymbolicName());
          swaps.remove(request, observer);
        });
  }

  @Override
  public void rollback(RollbackRequest request, StreamObserver<SwapProgress> observer) {
    stream(observer, () -> swaps.rollback(request, observer));
  }

  @Override
  public void configure(ConfigureRequest request, StreamObserver<SwapProgress> observer) {
    stream(observer, () -> swaps.configure(request, observer));
  }

  @Override
  public void cancel(CancelRequest request, StreamObserver<CancelResponse> observer) {
    answer(observer, swaps::cancel);
  }

  @Override
  public void history(HistoryRequest request, StreamObserver<HistoryResponse> observer) {
    answer(observer, swaps::history);
  }

  @Override
  public void getConfiguration(
      GetConfigurationRequest request, StreamObserver<GetConfigurationResponse> observer) {
    answer(observer, () -> configurations.get(request));
  }

  @Override
  public void graph(GraphRequest request, StreamObserver<GraphResponse> observer) {
    answer(observer, () -> graph.answer(request));
  }

  private interface Stream {
    void run() throws StatusException, InterruptedException;
  }

  private static void stream(StreamObserver<SwapProgress> observer, Stream call) {
    try {
      call.run();
      observer.onCompleted();
    } catch (StatusException e) {
      observer.onError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      observer.onError(
          Status.CANCELLED.withDescription("the call was ended; the swap continues").asException());
    }
  }

  @Override
  public void stop(StopRequest request, StreamObserver<StopResponse> observer) {
    answer(
        observer,
        () -> {
          Bundle bundle = bundles.organ(request.getSymbolicName());
          move(bundle, engine::stop);
          return StopResponse.newBuilder().setPlugin(plugin(bundle)).build();
        });
  }

  @Override
  public void start(StartRequest request, StreamObserver<StartResponse> observer) {
    answer(
        observer,
        () -> {
          Bundle bundle = bundles.named(request.getSymbolicName());
          move(bundle, engine::start);
          return StartResponse.newBuilder().setPlugin(plugin(bundle)).build();
        });
  }

  private interface Call<T> {
    T answer() throws StatusException;
  }

  private interface Move {
    Optional<String> move(Bundle bundle, String who)
        throws SwapRefusedException, InterruptedException;
  }

  private static <T> void answer(StreamObserver<T> observer, Call<T> call) {
    try {
      observer.onNext(call.answer());
      observer.onCompleted();
    } catch (StatusException e) {
      observer.onError(e);
    }
  }

  private static void move(Bundle bundle, Move move) throws StatusException {
    try {
      Optional<String> trouble = move.move(bundle, RpcPeer.current().describe());
      if (trouble.isPresent()) {
        throw Status.INTERNAL.withDescription(trouble.get()).asException();
      }
    } catch (SwapRefusedException e) {
      throw Status.FAILED_PRECONDITION.withDescription(e.getMessage()).withCause(e).asException();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Status.CANCELLED
          .withDescription("the call was ended; \"bundle list\" shows how the bundle stands")
          .asException();
    }
  }

  private static Plugin plugin(Bundle bundle) {
    return Plugin.newBuilder()
        .setSymbolicName(String.valueOf(bundle.getSymbolicName()))
        .setVersion(bundle.getVersion().toString())
        .setState(BundleStates.wire(bundle.getState()))
        .setLocation(bundle.getLocation())
        .setBundleId(bundle.getBundleId())
        .build();
  }
}
