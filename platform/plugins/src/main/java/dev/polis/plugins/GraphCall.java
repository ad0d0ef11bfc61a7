package dev.polis.plugins;

import dev.polis.base.config.DidYouMean;
import dev.polis.plugins.graph.FollowedContract;
import dev.polis.plugins.graph.FollowedContractSource;
import dev.polis.plugins.graph.PluginGraph;
import dev.polis.wire.plugins.GraphBundle;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.plugins.GraphResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.runtime.ServiceComponentRuntime;

/** Answers calls about the wiring of the node's plugins. */
final class GraphCall {
  private final BundleContext context;
  private final ServiceComponentRuntime runtime;

  GraphCall(BundleContext context, ServiceComponentRuntime runtime) {
    this.context = context;
    this.runtime = runtime;
  }

  /** Returns the uses between all plugins. */
  GraphResponse all() {
    return PluginGraph.read(context, runtime, contracts(), false);
  }

  GraphResponse answer(GraphRequest request) throws StatusException {
    GraphResponse all = PluginGraph.read(context, runtime, contracts(), request.getPlatform());
    String name = request.getName().strip();
    return name.isEmpty() ? all : around(name, all);
  }

  /** Keeps the part of the graph around one plugin, organ or role. */
  private static GraphResponse around(String name, GraphResponse all) throws StatusException {
    Set<Long> named =
        all.getBundlesList().stream()
            .filter(bundle -> isNamed(bundle, name))
            .map(GraphBundle::getBundleId)
            .collect(Collectors.toSet());
    if (named.isEmpty()) {
      List<String> known =
          all.getBundlesList().stream()
              .filter(bundle -> bundle.getProvidesCount() > 0)
              .map(GraphBundle::getSymbolicName)
              .distinct()
              .sorted()
              .toList();
      throw Status.NOT_FOUND
          .withDescription(
              "this node has no plugin, organ or role \"%s\"%s"
                  .formatted(name, DidYouMean.among(name, known)))
          .asException();
    }
    GraphResponse.Builder part = GraphResponse.newBuilder().addAllBundles(all.getBundlesList());
    all.getServicesList().stream()
        .filter(
            use ->
                use.hasProvider() && named.contains(use.getProvider())
                    || use.hasUser() && named.contains(use.getUser()))
        .forEach(part::addServices);
    all.getWiresList().stream()
        .filter(wire -> named.contains(wire.getUser()) || named.contains(wire.getProvider()))
        .forEach(part::addWires);
    return part.build();
  }

  private static boolean isNamed(GraphBundle bundle, String name) {
    return bundle.getSymbolicName().equalsIgnoreCase(name)
        || bundle.getProvidesList().stream()
            .anyMatch(
                provided ->
                    provided.equalsIgnoreCase("organ " + name)
                        || provided.equalsIgnoreCase("role " + name));
  }

  /**
   * Returns the followed contracts. The service that knows them is released at once, because it
   * needs the swaps that this bundle offers.
   */
  List<FollowedContract> contracts() {
    ServiceReference<FollowedContractSource> reference =
        context.getServiceReference(FollowedContractSource.class);
    FollowedContractSource contracts = reference == null ? null : context.getService(reference);
    if (contracts == null) {
      return List.of();
    }
    try {
      return contracts.contracts();
    } finally {
      context.ungetService(reference);
    }
  }
}
