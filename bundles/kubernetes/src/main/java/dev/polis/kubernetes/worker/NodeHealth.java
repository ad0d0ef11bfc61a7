package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Derives the health of the role from the worker's state. One thread uses it. */
final class NodeHealth {

  private static final String NOT_READY = "node-not-ready";
  private static final String PRESSURE = "node-under-pressure";
  private static final String CORDONED = "node-cordoned";
  private static final String NO_CONTROLLERS = "no-controllers";

  /** The kubelet's text for the runtime's message about the network. */
  private static final Pattern OF_NETWORK =
      Pattern.compile(
          "container runtime network not ready: NetworkReady=false reason:\\w+ message:(?:Network plugin returns error: )?");

  /** The controller manager's text for a silent kubelet. */
  private static final String SILENT = "Kubelet stopped posting node status";

  /** The remedies by the type of the Node object's condition. */
  private static final Map<String, String> REMEDIES =
      Map.of(
          "DiskPressure",
              "free some space: df -h DATA shows how full it is, and df -i DATA its inodes",
          "MemoryPressure",
              "end something else on the machine, or give it more memory: free -h shows how much there is",
          "PIDPressure", "end processes, or raise kernel.pid_max: ps -eLf names them");

  private final WorkerPlan plan;
  private final Path data;
  private final Supplier<Optional<Long>> kubelet;

  /** True once this instance has seen the Node object. */
  private boolean registered;

  /**
   * Creates it without a judgement.
   *
   * @param data the folder to which Pods write
   * @param kubelet the process id of the kubelet, while it runs
   */
  NodeHealth(WorkerPlan plan, Path data, Supplier<Optional<Long>> kubelet) {
    this.plan = plan;
    this.data = data;
    this.kubelet = kubelet;
  }

  /** Judges this node's Node object. */
  Optional<HealthCondition> ofNode(Optional<JsonObject> node) {
    registered |= node.isPresent();
    if (node.isEmpty()) {
      return Optional.of(
          kubelet
              .get()
              .filter(_ -> registered)
              .map(NodeHealth::deleted)
              .orElseGet(
                  () ->
                      HealthCondition.waiting(
                          NOT_READY, "the kubelet has not registered this node yet")));
    }
    return NodeObject.notReady(node.get())
        .map(NodeHealth::notReady)
        .or(() -> ofPressures(NodeObject.pressures(node.get())))
        .or(() -> NodeObject.cordoned(node.get()) ? Optional.of(cordoned()) : Optional.empty());
  }

  private static HealthCondition notReady(String said) {
    String why = OF_NETWORK.matcher(said).replaceAll("the network of Pods is not set up: ");
    return new HealthCondition(
        HealthLevel.WAITING,
        NOT_READY,
        "the node is not Ready: " + why,
        said.contains(SILENT)
            ? "see why the kubelet does not reach the API server: polisctl node logs --dn root.roles.plugins.kubernetes_worker.plugin.worker.kubelet"
            : "");
  }

  /**
   * Returns the condition of a deleted Node object; a kubelet registers its node only once, at its
   * start.
   */
  private static HealthCondition deleted(long kubelet) {
    return HealthCondition.down(
        NOT_READY,
        "the Node object of this node was deleted from Kubernetes, so it gets no Pods",
        "end the kubelet: kill %d; it is started again, and registers the node".formatted(kubelet));
  }

  private Optional<HealthCondition> ofPressures(List<String> types) {
    return types.isEmpty()
        ? Optional.empty()
        : Optional.of(
            HealthCondition.degraded(
                PRESSURE,
                "the kubelet reports %s: it evicts Pods, and the node takes no new ones"
                    .formatted(String.join(" and ", types)),
                types.stream()
                    .map(
                        type -> REMEDIES.getOrDefault(type, "kubectl describe node " + plan.node()))
                    .map(remedy -> remedy.replace("DATA", data.toString()))
                    .collect(Collectors.joining("; "))));
  }

  private HealthCondition cordoned() {
    return HealthCondition.degraded(
        CORDONED,
        "the node is cordoned, so it takes no new Pods",
        "let it take Pods again: kubectl uncordon " + plan.node());
  }

  /** Judges the known API servers. */
  static Optional<HealthCondition> ofControllers(Set<InetSocketAddress> controllers) {
    return controllers.isEmpty()
        ? Optional.of(
            HealthCondition.waiting(
                NO_CONTROLLERS,
                "no node of the cluster has the role KubernetesController, so there is no API server"))
        : Optional.empty();
  }
}
