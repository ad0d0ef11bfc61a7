package dev.polis.plugins;

import dev.polis.wire.plugins.ListRequest;
import dev.polis.wire.plugins.ListResponse;
import dev.polis.wire.plugins.Plugin;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.plugins.StartRequest;
import dev.polis.wire.plugins.StartResponse;
import dev.polis.wire.plugins.StopRequest;
import dev.polis.wire.plugins.StopResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;

/**
 * Implements the Plugins service over the framework's bundles. Calls may come from any thread; the
 * framework orders them.
 */
final class PluginsService extends PluginsGrpc.PluginsImplBase {
  private final BundleDirectory bundles;

  PluginsService(BundleDirectory bundles) {
    this.bundles = bundles;
  }

  @Override
  public void list(ListRequest request, StreamObserver<ListResponse> observer) {
    answer(
        observer,
        () ->
            ListResponse.newBuilder()
                .addAllPlugins(bundles.all().stream().map(PluginsService::plugin).toList())
                .build());
  }

  @Override
  public void stop(StopRequest request, StreamObserver<StopResponse> observer) {
    answer(
        observer,
        () -> {
          Bundle bundle = bundles.organ(request.getSymbolicName());
          move("stop", bundle, Bundle::stop);
          return StopResponse.newBuilder().setPlugin(plugin(bundle)).build();
        });
  }

  @Override
  public void start(StartRequest request, StreamObserver<StartResponse> observer) {
    answer(
        observer,
        () -> {
          Bundle bundle = bundles.named(request.getSymbolicName());
          move("start", bundle, Bundle::start);
          return StartResponse.newBuilder().setPlugin(plugin(bundle)).build();
        });
  }

  private interface Call<T> {
    T answer() throws StatusException;
  }

  private interface Move {
    void move(Bundle bundle) throws BundleException;
  }

  private static <T> void answer(StreamObserver<T> observer, Call<T> call) {
    try {
      observer.onNext(call.answer());
      observer.onCompleted();
    } catch (StatusException e) {
      observer.onError(e);
    }
  }

  private static void move(String verb, Bundle bundle, Move move) throws StatusException {
    try {
      move.move(bundle);
    } catch (BundleException e) {
      String why =
          e.getCause() == null ? e.getMessage() : e.getMessage() + ": " + e.getCause().getMessage();
      throw Status.INTERNAL
          .withDescription(bundle.getSymbolicName() + " did not " + verb + ": " + why)
          .withCause(e)
          .asException();
    }
  }

  private static Plugin plugin(Bundle bundle) {
    return Plugin.newBuilder()
        .setSymbolicName(String.valueOf(bundle.getSymbolicName()))
        .setVersion(bundle.getVersion().toString())
        .setState(state(bundle.getState()))
        .setLocation(bundle.getLocation())
        .setBundleId(bundle.getBundleId())
        .build();
  }

  private static Plugin.State state(int state) {
    return switch (state) {
      case Bundle.INSTALLED -> Plugin.State.STATE_INSTALLED;
      case Bundle.RESOLVED -> Plugin.State.STATE_RESOLVED;
      case Bundle.STARTING -> Plugin.State.STATE_STARTING;
      case Bundle.ACTIVE -> Plugin.State.STATE_ACTIVE;
      case Bundle.STOPPING -> Plugin.State.STATE_STOPPING;
      case Bundle.UNINSTALLED -> Plugin.State.STATE_UNINSTALLED;
      default -> Plugin.State.STATE_UNKNOWN;
    };
  }
}
