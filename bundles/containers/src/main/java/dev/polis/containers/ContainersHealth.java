package dev.polis.containers;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Sandbox;
import dev.polis.health.HealthCondition;
import java.util.Optional;

/** Derives the health of this organ from the status of the runtime. */
final class ContainersHealth {

  private ContainersHealth() {}

  /** Returns the condition to repair; a runtime that no role needs is healthy. */
  static Optional<HealthCondition> of(ContainersStatus status) {
    return switch (status) {
      case ContainersStatus.Stopped _, ContainersStatus.Running _ -> Optional.empty();
      case ContainersStatus.Starting(String waitingFor) ->
          Optional.of(
              HealthCondition.waiting(
                  "containers-starting", "the container runtime waits for " + waitingFor));
      case ContainersStatus.Failed(String reason) ->
          Optional.of(
              HealthCondition.down(
                  "containers-failed",
                  "the container runtime does not start: " + reason + "; the node starts it again",
                  ""));
    };
  }

  /**
   * Returns the missing part of the connection between the machine and a sandbox, which cuts off
   * the containers inside.
   */
  static Optional<HealthCondition> ofNetwork(ContainersStatus status, MachineRoutes machine) {
    return Optional.of(status)
        .filter(ContainersStatus.Running.class::isInstance)
        .map(running -> ((ContainersStatus.Running) running).sandbox())
        .filter(sandbox -> !sandbox.hostDevice().isEmpty())
        .flatMap(sandbox -> cutOff(sandbox, machine));
  }

  private static Optional<HealthCondition> cutOff(Sandbox sandbox, MachineRoutes machine) {
    String device = sandbox.hostDevice();
    String host = sandbox.request().hostAddress().getHostAddress();
    String inside = sandbox.address().getHostAddress();
    String route = "ip route replace %s/32 dev %s src %s".formatted(inside, device, host);
    if (!machine.devices().contains(device)) {
      return cutOff(
          "the network device %s, by which this machine reaches the sandbox with all containers, was removed"
              .formatted(device),
          "have the sandbox made anew: polisctl node role remove NODE KubernetesWorker, then polisctl node role add NODE KubernetesWorker");
    }
    if (!machine.addresses().contains(sandbox.request().hostAddress())) {
      return cutOff(
          "the address %s, at which containers reach this node, was taken away from this machine, and the route to them with it"
              .formatted(host),
          "give both back: ip address replace %s/32 dev lo; %s".formatted(host, route));
    }
    return machine.hasRoute(device, sandbox.address())
        ? Optional.empty()
        : cutOff(
            "the route to %s, the sandbox with all containers, was removed from this machine"
                .formatted(inside),
            "give it back: " + route);
  }

  private static Optional<HealthCondition> cutOff(String reason, String remedy) {
    return Optional.of(HealthCondition.down("sandbox-cut-off", reason, remedy));
  }
}
